// Rotations of a project, in all environments that the person can read.

import { useEffect, useState } from "preact/hooks";

import { Field, FormDialog, RequestError, useRequest } from "../parts/form.js";
import { html } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { notify } from "../parts/notice.js";
import { Empty, Skeleton, sentence } from "../parts/states.js";
import { words as shared } from "../words.js";
import { requests } from "./api.js";
import { Once } from "./new-token.js";
import { Age, Frame, Heading } from "./parts.js";
import { words } from "./words.js";

const text = words.rotations;

/** Marks of the states of a rotation, and of the outcomes of its attempts. @type {Record<string, string>} */
const TAGS = { active: "good", error: "bad", success: "good", failed: "bad", rolled_back: "bad" };

/** @param {{ attempt: any }} properties */
const Attempt = ({ attempt: { version, status, trigger_type, started_at, error_message } }) => html`<li>
  <span class=${`tag ${TAGS[status] ?? ""}`}>${text.outcomes[status] ?? status}</span>
  ${" "}v${version} · ${text.triggers[trigger_type] ?? trigger_type} · <${Age} time=${started_at} />
  ${error_message && html`<p class="bad">${error_message}</p>`}
</li>`;

/** @param {{ project: any, rotation: any, onClose: () => void, onDone: (webhook: any) => void }} properties */
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

/** Webhooks of a rotation. @param {{ project: any, rotation: any, webhooks: any[], canWrite: boolean, reload: () => Promise<void> }} properties */
function Webhooks({ project, rotation, webhooks, canWrite, reload }) {
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
          ${canWrite && html`<button class="danger" aria-label=${`${text.deleteWebhook}: ${one.url}`} onClick=${() => setAsked({ action: "delete", webhook: one })}>${text.deleteWebhook}</button>`}
        </li>`,
      )}
    </ul>
    ${action === "create" && html`<${NewWebhook} project=${project} rotation=${rotation} onClose=${close} onDone=${show} />`}
    ${action === "secret" && html`<${Once} title=${text.secretTitle} about=${text.secretText} label=${text.secret} value=${webhook.secret} copied=${text.secretCopied} onClose=${close} />`}
    ${action === "delete" &&
    html`<${FormDialog} title=${text.deleteTitle} submit=${text.deleteWebhook} isDangerous onClose=${close} request=${remove}>
      ${() => html`<p><code>${webhook.url}</code></p>`}
    <//>`}`;
}

/** History and webhooks, loaded when they are opened. @param {{ project: any, rotation: any, canWrite: boolean }} properties */
function History({ project, rotation, canWrite }) {
  const [found, setFound] = useState(/** @type {{ attempts?: any[], webhooks?: any[], error?: any }} */ ({}));
  const [isOpen, setOpen] = useState(false);
  const load = async () => {
    try {
      const [attempts, webhooks] = await Promise.all([requests.rotationHistory(project.slug, rotation), requests.webhooks(project.slug, rotation)]);
      setFound({ attempts, webhooks });
    } catch (error) {
      setFound({ error });
    }
  };
  useEffect(() => {
    if (isOpen) load();
  }, [isOpen, rotation.updated_at]);
  const { attempts, webhooks = [], error } = found;
  return html`<details onToggle=${(/** @type {any} */ { currentTarget }) => setOpen(currentTarget.open)}>
    <summary>${text.history}<span class="unseen"> ${rotation.name}</span></summary>
    <${RequestError} error=${error} />
    ${!attempts && !error && html`<${Skeleton} rows=${2} />`}
    ${attempts && !attempts.length && html`<p class="quiet">${text.noHistory}</p>`}
    ${attempts && html`<ul class="attempts">${attempts.map((attempt) => html`<${Attempt} key=${attempt.id} attempt=${attempt} />`)}</ul>`}
    ${attempts && (canWrite || webhooks.length > 0) &&
    html`<${Webhooks} project=${project} rotation=${rotation} webhooks=${webhooks} canWrite=${canWrite} reload=${load} />`}
  </details>`;
}

/** @param {{ project: any, rotation: any, environment: any, onAsk: () => void, onStatus: (status: string) => void }} properties */
function Rotation({ project, rotation, environment, onAsk, onStatus }) {
  const { name, integration_type, rotation_interval_days, status, last_rotation_at, next_rotation_at, injected_secrets, error_message } = rotation;
  const isPaused = status === "paused";
  const toggle = isPaused ? text.resume : text.pause;
  return html`<li class="entry">
    <div class="what">
      <p class="title">${name} <span class=${`tag ${TAGS[status] ?? ""}`}>${text.states[status]}</span></p>
      <p>${environment.name} · ${integration_type} · ${text.every(rotation_interval_days)}</p>
      <p class="quiet">
        ${last_rotation_at ? html`${text.last} <${Age} time=${last_rotation_at} />` : text.never}${next_rotation_at && html` · ${text.next} <${Age} time=${next_rotation_at} />`}
        ${injected_secrets.length > 0 && html` · ${text.writes} <code>${injected_secrets.join(", ")}</code>`}
      </p>
      ${error_message && html`<p class="bad">${error_message}</p>`}
    </div>
    ${environment.can_write && status !== "disabled" &&
    html`<div class="actions">
      <button aria-label=${`${text.rotate}: ${name}`} onClick=${onAsk}><${Icon} name="managed" />${text.rotate}</button>
      <button aria-label=${`${toggle}: ${name}`} onClick=${() => onStatus(isPaused ? "active" : "paused")}>${toggle}</button>
    </div>`}
    <${History} project=${project} rotation=${rotation} canWrite=${environment.can_write} />
  </li>`;
}

/** @param {{ place: import("./parts.js").Place, data: { environments: any[], rotations: any[] }, reload: () => Promise<void> }} properties */
function Rotations({ place: { project }, data: { environments, rotations }, reload }) {
  const [asked, setAsked] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const rotate = async () => {
    const { status } = await requests.rotate(project.slug, asked);
    const isDone = status === "success";
    setAsked(null);
    notify({ text: isDone ? text.rotated(asked.name) : text.failed(asked.name), isBad: !isDone });
    await reload();
  };
  const change = async (/** @type {any} */ rotation, /** @type {string} */ status) => {
    try {
      setError(null);
      await requests.setRotationStatus(project.slug, rotation, status);
      notify({ text: status === "paused" ? text.paused(rotation.name) : text.resumed(rotation.name) });
      await reload();
    } catch (error) {
      setError(error);
    }
  };
  const writable = environments.filter(({ can_write }) => can_write);
  const created = async (/** @type {string} */ name) => {
    setAsked(null);
    notify({ text: text.created(name) });
    await reload();
  };
  const environmentOf = (/** @type {any} */ rotation) => environments.find(({ id }) => id === rotation.environment_id);
  return html`<${Heading} title=${shared.sections.names.rotations} about=${text.about}>
      ${writable.length > 0 && html`<button class="main" onClick=${() => setAsked("create")}><${Icon} name="plus" />${text.create}</button>`}
    <//>
    <${RequestError} error=${error} />
    ${rotations.length === 0 && html`<${Empty} title=${text.none}><p>${text.noneText}</p><//>`}
    ${rotations.length > 0 &&
    html`<ul class="items">
      ${rotations.map(
        (rotation) => html`<${Rotation}
          key=${rotation.id}
          project=${project}
          rotation=${rotation}
          environment=${environmentOf(rotation)}
          onAsk=${() => setAsked(rotation)}
          onStatus=${(/** @type {string} */ status) => change(rotation, status)}
        />`,
      )}
    </ul>`}
    ${asked === "create" && html`<${NewRotation} project=${project} environments=${writable} onClose=${() => setAsked(null)} onDone=${created} />`}
    ${asked && asked !== "create" &&
    html`<${FormDialog} title=${text.rotateTitle(asked.name)} submit=${text.rotate} onClose=${() => setAsked(null)} request=${rotate}>
      ${() => html`<p>${text.rotateText}</p>`}
    <//>`}`;
}

/** Loads the rotations of the environments that the person can read. @param {import("./parts.js").Place} place */
async function read({ project }) {
  const { permissions } = await requests.myPermissions(project.slug);
  const readable = permissions.filter((/** @type {any} */ { can_read }) => can_read);
  const environments = readable.map((/** @type {any} */ { environment_id, environment_name, can_write }) => ({ id: environment_id, name: environment_name, can_write }));
  const lists = await Promise.all(environments.map((/** @type {any} */ { id }) => requests.rotations(project.slug, id)));
  return { environments, rotations: lists.flat() };
}

/** @param {{ project: string }} properties */
export function Content({ project }) {
  const content = (/** @type {import("./parts.js").Place} */ place, /** @type {any} */ data, /** @type {any} */ reload) =>
    html`<${Rotations} place=${place} data=${data} reload=${reload} />`;
  return html`<${Frame} name="rotations" project=${project} read=${read} content=${content} />`;
}

/** Fields whose errors are shown beside them. */
const FIELDS = ["name", "connection.host", "connection.port", "connection.database", "connection.admin_username", "connection.admin_password", "rotation_interval_days"];

const EMPTY = { name: "", engine: "postgresql", host: "", port: "", database: "", user: "", password: "", days: "30" };

/** Database of the form, as the service expects it. @param {typeof EMPTY} form */
const targetOf = ({ engine, host, port, database, user, password }) => ({
  integration_type: engine,
  connection_method: "direct",
  connection: { host, port: port ? Number(port) : undefined, database, admin_username: user, admin_password: password },
});

/** @param {{ label: string, name: string, error: any, value: string, onInput: (event: any) => void, type?: string, hint?: string }} properties */
const Text = ({ label, name, error, value, onInput, type = "text", hint }) => html`<${Field} label=${label} name=${name} hint=${hint} error=${error}
  control=${(/** @type {any} */ bound) => html`<input ...${bound} type=${type} autocomplete=${type === "password" ? "new-password" : "off"} spellcheck=${false} value=${value} onInput=${onInput} />`} />`;

/** @param {{ label: string, options: string[][], value: string, onChange: (event: any) => void }} properties */
const Choice = ({ label, options, value, onChange }) => html`<${Field} label=${label} name="" control=${(/** @type {any} */ bound) => html`<select ...${bound} onChange=${onChange}>
  ${options.map(([id, name]) => html`<option key=${id} value=${id} selected=${id === value}>${name}</option>`)}
</select>`} />`;

/**
 * Button that tests the connection, and the answer of the service.
 * @param {{ isReady: boolean, test: () => Promise<{ success: boolean, message: string }> }} properties
 */
function Test({ isReady, test }) {
  const [result, setResult] = useState(/** @type {{ success: boolean, message: string } | null} */ (null));
  const { isBusy, error, run } = useRequest(async () => {
    setResult(null);
    setResult(await test());
  });
  return html`<div class="tested">
      <button type="button" disabled=${!isReady || isBusy} onClick=${() => run(undefined)}>${text.test}</button>
      <span role="status" class=${result && !result.success ? "bad" : ""}>${isBusy ? text.testing : result && sentence(result.message)}</span>
    </div>
    <${RequestError} error=${error} />`;
}

/**
 * @param {{ project: any, environments: any[], onClose: () => void, onDone: (name: string) => void }} properties
 */
function NewRotation({ project, environments, onClose, onDone }) {
  const [form, setForm] = useState(EMPTY);
  const [environment, setEnvironment] = useState(environments[0].id);
  const set = (/** @type {keyof typeof EMPTY} */ field) => (/** @type {any} */ { target }) => setForm((current) => ({ ...current, [field]: target.value }));
  const isTarget = [form.host, form.database, form.user, form.password].every((value) => value.trim() !== "");
  const create = async () => {
    const { name, days } = form;
    await requests.createRotation(project.slug, environment, { ...targetOf(form), name, rotation_interval_days: Number(days) });
    onDone(name);
  };
  const names = environments.map(({ id, name }) => [id, name]);
  return html`<${FormDialog}
    title=${text.create}
    submit=${text.create}
    isReady=${isTarget && form.name.trim() !== "" && Number(form.days) > 0}
    fields=${FIELDS}
    onClose=${onClose}
    request=${create}
  >
    ${(/** @type {any} */ error) => html`
      <${Choice} label=${text.environment} options=${names} value=${environment} onChange=${(/** @type {any} */ { target }) => setEnvironment(target.value)} />
      <${Text} label=${text.name} name="name" hint=${text.nameHint} error=${error} value=${form.name} onInput=${set("name")} />
      <${Choice} label=${text.engine} options=${text.engines} value=${form.engine} onChange=${set("engine")} />
      <div class="pair">
        <${Text} label=${text.host} name="connection.host" error=${error} value=${form.host} onInput=${set("host")} />
        <${Text} label=${text.port} name="connection.port" type="number" error=${error} value=${form.port} onInput=${set("port")} />
      </div>
      <${Text} label=${text.database} name="connection.database" error=${error} value=${form.database} onInput=${set("database")} />
      <${Text} label=${text.user} name="connection.admin_username" error=${error} value=${form.user} onInput=${set("user")} />
      <${Text} label=${text.password} name="connection.admin_password" type="password" hint=${text.passwordHint} error=${error} value=${form.password} onInput=${set("password")} />
      <${Test} isReady=${isTarget} test=${() => requests.testRotation(project.slug, environment, targetOf(form))} />
      <${Text} label=${text.interval} name="rotation_interval_days" type="number" error=${error} value=${form.days} onInput=${set("days")} />`}
  <//>`;
}
