// Webhooks of a rotation, and their deliveries.

import { useState } from "preact/hooks";

import { html } from "../parts/html.js";
import { Dialog, Skeleton, errorText, notify } from "../parts/messages.js";
import { requests } from "./api.js";
import { Field, FormDialog } from "./form.js";
import { Once } from "./new-token.js";
import { Age, LoadError, useLoaded } from "./parts.js";
import { words as text } from "./words-rotations.js";

/** CSS classes of the labels for the states of a delivery. @type {Record<string, string>} */
const TAGS = { pending: "soon", delivered: "good", failed: "bad" };

/**
 * Dialog to create a webhook.
 * @param {{ project: any, rotation: any, onClose: () => void, onDone: (webhook: any) => void }} properties
 */
function NewWebhook({ project, rotation, onClose, onDone }) {
  const [url, setUrl] = useState("");
  const [events, setEvents] = useState(text.eventNames.map(([event]) => event));
  const toggle = (/** @type {string} */ event) => setEvents(events.includes(event) ? events.filter((other) => other !== event) : [...events, event]);
  const create = async () => onDone(await requests.createWebhook(project.slug, rotation, { url, events }));
  return html`<${FormDialog}
    title=${text.webhookTitle(rotation.name)}
    submit=${text.addWebhook}
    isReady=${url.trim() !== "" && events.length > 0}
    fields=${["url"]}
    onClose=${onClose}
    request=${create}
  >
    ${(/** @type {any} */ error) => html`
      <${Field} label=${text.url} name="url" hint=${text.urlHint} error=${error}
        control=${(/** @type {any} */ bound) => html`<input ...${bound} type="url" autocomplete="off" value=${url} onInput=${(/** @type {any} */ { target }) => setUrl(target.value)} />`} />
      <fieldset class="options">
        <legend>${text.events}</legend>
        ${text.eventNames.map(
          ([event, label]) => html`<label key=${event} class="check"><input type="checkbox" checked=${events.includes(event)} onChange=${() => toggle(event)} />${label}</label>`,
        )}
      </fieldset>`}
  <//>`;
}

/**
 * List item for a delivery, with a button to send it again if `onResend` is given.
 * @param {{ delivery: any, onResend?: () => void }} properties
 */
const Delivery = ({ delivery: { event, status, attempts, response_status, next_attempt_at, created_at }, onResend }) => html`<li class="webhook">
  <span><span class=${`tag ${TAGS[status]}`}>${text.deliveryStates[status] ?? status}</span> <code>${event}</code>
    <span class="quiet"> · <${Age} time=${created_at} /> · ${text.attempts(attempts)}${response_status !== null && ` · ${text.response(response_status)}`}${next_attempt_at !== null && html` · ${text.nextAttempt} <${Age} time=${next_attempt_at} />`}</span></span>
  ${onResend && html`<button onClick=${onResend}>${text.resend}</button>`}
</li>`;

/** Deliveries of a webhook. @param {{ project: any, rotation: any, webhook: any, canWrite: boolean, onClose: () => void }} properties */
function Deliveries({ project, rotation, webhook, canWrite, onClose }) {
  const loaded = useLoaded(() => requests.deliveries(project.slug, rotation, webhook.id));
  const { data, error, reload } = loaded;
  const send = async (/** @type {() => Promise<unknown>} */ request, /** @type {string} */ said) => {
    try {
      await request();
      notify({ text: said });
      await reload();
    } catch (failed) {
      notify({ text: errorText(failed), isBad: true });
    }
  };
  const test = () => send(() => requests.testWebhook(project.slug, rotation, webhook.id), text.testSent);
  const resend = (/** @type {string} */ id) => () => send(() => requests.redeliver(project.slug, rotation, webhook.id, id), text.resent);
  const canSend = canWrite && webhook.enabled;
  const actions = html`<button onClick=${reload}>${text.refresh}</button>${canSend && html`<button class="main" onClick=${test}>${text.sendTest}</button>`}`;
  return html`<${Dialog} title=${text.deliveries} onClose=${onClose} actions=${actions} kind="wide">
    <p><code>${webhook.url}</code></p>
    <${LoadError} ...${loaded} />
    ${!data && !error && html`<${Skeleton} rows=${2} />`}
    ${data?.length === 0 && html`<p class="quiet">${text.noDeliveries}</p>`}
    ${data && html`<ul class="attempts">
      ${data.map((/** @type {any} */ one) => html`<${Delivery} key=${one.id} delivery=${one} onResend=${canSend && one.status !== "pending" ? resend(one.id) : undefined} />`)}
    </ul>`}
  <//>`;
}

/** Webhooks of a rotation. @param {{ project: any, rotation: any, webhooks: any[], canWrite: boolean, reload: () => Promise<void> }} properties */
export function Webhooks({ project, rotation, webhooks, canWrite, reload }) {
  const [asked, setAsked] = useState(/** @type {{ action: string, webhook?: any } | null} */ (null));
  const close = () => setAsked(null);
  const show = async (/** @type {any} */ webhook) => {
    setAsked({ action: "secret", webhook });
    await reload();
  };
  const remove = async () => {
    await requests.deleteWebhook(project.slug, rotation, asked?.webhook.id);
    close();
    notify({ text: text.deleted });
    await reload();
  };
  const { action, webhook } = asked ?? {};
  return html`<div class="subheading">
      <h2 class="small">${text.webhooks}</h2>
      ${canWrite && html`<button onClick=${() => setAsked({ action: "create" })}>${text.addWebhook}</button>`}
    </div>
    <ul class="attempts">
      ${webhooks.map(
        (one) => html`<li key=${one.id} class="webhook">
          <span><code>${one.url}</code> ${!one.enabled && html`<span class="tag bad">${text.disabled}</span>`}</span>
          <span class="buttons"><button aria-label=${`${text.deliveries}: ${one.url}`} onClick=${() => setAsked({ action: "deliveries", webhook: one })}>${text.deliveries}</button>
          ${canWrite && html`<button class="danger" aria-label=${`${text.deleteWebhook}: ${one.url}`} onClick=${() => setAsked({ action: "delete", webhook: one })}>${text.deleteWebhook}</button>`}</span>
        </li>`,
      )}
    </ul>
    ${action === "deliveries" && html`<${Deliveries} project=${project} rotation=${rotation} webhook=${webhook} canWrite=${canWrite} onClose=${close} />`}
    ${action === "create" && html`<${NewWebhook} project=${project} rotation=${rotation} onClose=${close} onDone=${show} />`}
    ${action === "secret" && html`<${Once} title=${text.secretTitle} about=${text.secretText} label=${text.secret} value=${webhook.secret} copied=${text.secretCopied} onClose=${close} />`}
    ${action === "delete" &&
    html`<${FormDialog} title=${text.deleteTitle} submit=${text.deleteWebhook} isDangerous onClose=${close} request=${remove}>
      ${() => html`<p><code>${webhook.url}</code></p>`}
    <//>`}`;
}
