// Rotations of a project, in all environments that the user can read.

import { useEffect, useState } from "preact/hooks";

import { Icon, html } from "../parts/html.js";
import { Empty, Skeleton, notify } from "../parts/messages.js";
import { words as shared } from "../words.js";
import { requests } from "./api.js";
import { Field, FormDialog, RequestError, Typed } from "./form.js";
import { NewRotation } from "./new-rotation.js";
import { ActionButton, Age, Frame, Heading } from "./parts.js";
import { Webhooks } from "./webhooks.js";
import { words as text } from "./words-rotations.js";

/** @typedef {import("./parts.js").Place} Place */

/**
 * CSS classes of the labels for states of rotations and results of attempts.
 * @type {Record<string, string>}
 */
const TAGS = { active: "good", error: "bad", success: "good", failed: "bad", rolled_back: "bad" };

/** List item for an attempt of a rotation. @param {{ attempt: any }} properties */
const Attempt = ({ attempt: { version, status, trigger_type, started_at, error_message } }) => html`<li>
  <span class=${`tag ${TAGS[status] ?? ""}`}>${text.outcomes[status] ?? status}</span>
  ${" "}v${version} · ${text.triggers[trigger_type] ?? trigger_type} · <${Age} time=${started_at} />
  ${error_message && html`<p class="bad">${error_message}</p>`}
</li>`;

/**
 * Attempts and webhooks of a rotation, loaded when the user opens this part of the page.
 * @param {{ project: any, rotation: any, canWrite: boolean }} properties
 */
function History({ project, rotation, canWrite }) {
  const [found, setFound] = useState(/** @type {{ attempts?: any[], webhooks?: any[], error?: any }} */ ({}));
  const [isOpen, setOpen] = useState(false);
  const load = async () => {
    try {
      const [attempts, webhooks] = await Promise.all([requests.rotationHistory(project.slug, rotation), requests.webhooks(project.slug, rotation)]);
      setFound({ attempts, webhooks });
    } catch (error) {
      // The older content stays, because a dialog in it may show a secret that is shown once.
      setFound((found) => ({ ...found, error }));
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

/**
 * Card of a rotation, with its state and its actions.
 * @param {{ project: any, rotation: any, environment: any, onAsk: (action: string) => void, onStatus: (status: string) => void }} properties
 */
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
    ${environment.can_write &&
    html`<div class="actions">
      ${status !== "disabled" &&
      html`<button aria-label=${`${text.rotate}: ${name}`} onClick=${() => onAsk("rotate")}><${Icon} name="managed" />${text.rotate}</button>
        <button aria-label=${`${toggle}: ${name}`} onClick=${() => onStatus(isPaused ? "active" : "paused")}>${toggle}</button>
        <button aria-label=${`${text.change}: ${name}`} onClick=${() => onAsk("change")}>${text.change}</button>`}
      <button class="danger" aria-label=${`${text.remove}: ${name}`} onClick=${() => onAsk("delete")}>${text.remove}</button>
    </div>`}
    <${History} project=${project} rotation=${rotation} canWrite=${environment.can_write} />
  </li>`;
}

/**
 * Dialog to change the interval of a rotation.
 * @param {{ project: any, rotation: any, onClose: () => void, onDone: () => Promise<void> }} properties
 */
function Change({ project, rotation, onClose, onDone }) {
  const [days, setDays] = useState(String(rotation.rotation_interval_days));
  const change = async () => {
    await requests.changeRotation(project.slug, rotation, { rotation_interval_days: Number(days) });
    await onDone();
  };
  return html`<${FormDialog} title=${text.changeTitle(rotation.name)} submit=${text.save} isReady=${Number(days) > 0} fields=${["rotation_interval_days"]} onClose=${onClose} request=${change}>
    ${(/** @type {any} */ error) => html`<${Field} label=${text.interval} name="rotation_interval_days" error=${error}
      control=${(/** @type {any} */ bound) => html`<input ...${bound} type="number" min="1" value=${days} onInput=${(/** @type {any} */ { target }) => setDays(target.value)} />`} />`}
  <//>`;
}

/**
 * Dialog to delete a rotation.
 * @param {{ project: any, rotation: any, onClose: () => void, onDone: () => Promise<void> }} properties
 */
function Delete({ project, rotation, onClose, onDone }) {
  const [typed, setTyped] = useState("");
  const [isRevoking, setRevoking] = useState(false);
  const { name } = rotation;
  const remove = async () => {
    await requests.deleteRotation(project.slug, rotation, isRevoking);
    await onDone();
  };
  return html`<${FormDialog} title=${text.removeTitle(name)} submit=${text.remove} isDangerous isReady=${typed === name} onClose=${onClose} request=${remove}>
    ${(/** @type {any} */ error) => html`<p>${text.removeText}</p>
      <${Typed} label=${text.removeType(name)} error=${error} value=${typed} onChange=${setTyped} />
      <label class="check"><input type="checkbox" checked=${isRevoking} onChange=${(/** @type {any} */ { target }) => setRevoking(target.checked)} />${text.revoke}</label>`}
  <//>`;
}

/**
 * List of a project's rotations, with the dialogs to change them.
 * @param {{ place: Place, data: { environments: any[], rotations: any[] }, reload: () => Promise<void> }} properties
 */
function Rotations({ place: { project }, data: { environments, rotations }, reload }) {
  const [asked, setAsked] = useState(/** @type {{ action: string, rotation?: any } | null} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const close = () => setAsked(null);
  const done = async (/** @type {string} */ said, isBad = false) => {
    close();
    notify({ text: said, isBad });
    await reload();
  };
  const { action, rotation: chosen } = asked ?? {};
  const rotate = async () => {
    const { status } = await requests.rotate(project.slug, chosen);
    const isDone = status === "success";
    await done(isDone ? text.rotated(chosen.name) : text.failed(chosen.name), !isDone);
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
  const environmentOf = (/** @type {any} */ rotation) => environments.find(({ id }) => id === rotation.environment_id);
  return html`<${Heading} title=${shared.sections.names.rotations} about=${text.about}>
      <${ActionButton} name="newRotation" rights=${{ writable: writable.length }} run=${() => setAsked({ action: "create" })} />
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
          onAsk=${(/** @type {string} */ action) => setAsked({ action, rotation })}
          onStatus=${(/** @type {string} */ status) => change(rotation, status)}
        />`,
      )}
    </ul>`}
    ${action === "create" && html`<${NewRotation} project=${project} environments=${writable} onClose=${close} onDone=${(/** @type {string} */ name) => done(text.created(name))} />`}
    ${action === "change" && html`<${Change} project=${project} rotation=${chosen} onClose=${close} onDone=${() => done(text.changed(chosen.name))} />`}
    ${action === "delete" && html`<${Delete} project=${project} rotation=${chosen} onClose=${close} onDone=${() => done(text.removed(chosen.name))} />`}
    ${action === "rotate" &&
    html`<${FormDialog} title=${text.rotateTitle(chosen.name)} submit=${text.rotate} onClose=${close} request=${rotate}>
      ${() => html`<p>${text.rotateText}</p>`}
    <//>`}`;
}

/**
 * Loads the rotations of the environments that the signed-in user can read.
 * @param {Place} place
 */
async function read({ project }) {
  const { permissions } = await requests.myPermissions(project.slug);
  const readable = permissions.filter((/** @type {any} */ { can_read }) => can_read);
  const environments = readable.map((/** @type {any} */ { environment_id, environment_name, can_write }) => ({ id: environment_id, name: environment_name, can_write }));
  const lists = await Promise.all(environments.map((/** @type {any} */ { id }) => requests.rotations(project.slug, id)));
  return { environments, rotations: lists.flat() };
}

/** Section with the rotations of a project. @param {{ project: string }} properties */
export function Content({ project }) {
  const content = (/** @type {Place} */ place, /** @type {any} */ data, /** @type {any} */ reload) =>
    html`<${Rotations} place=${place} data=${data} reload=${reload} />`;
  return html`<${Frame} name="rotations" project=${project} read=${read} content=${content} />`;
}

