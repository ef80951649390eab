// Rotations of a project, in all environments that the person can read.

import { useEffect, useState } from "preact/hooks";

import { FormDialog, RequestError } from "../parts/form.js";
import { html } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { notify } from "../parts/notice.js";
import { Empty, Skeleton } from "../parts/states.js";
import { words as shared } from "../words.js";
import { requests } from "./api.js";
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

/** History and webhooks, loaded when they are opened. @param {{ project: any, rotation: any }} properties */
function History({ project, rotation }) {
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
  const disabled = webhooks.filter(({ enabled }) => !enabled).length;
  return html`<details onToggle=${(/** @type {any} */ { currentTarget }) => setOpen(currentTarget.open)}>
    <summary>${text.history}<span class="unseen"> ${rotation.name}</span></summary>
    <${RequestError} error=${error} />
    ${!attempts && !error && html`<${Skeleton} rows=${2} />`}
    ${attempts && !attempts.length && html`<p class="quiet">${text.noHistory}</p>`}
    ${attempts && html`<ul class="attempts">${attempts.map((attempt) => html`<${Attempt} key=${attempt.id} attempt=${attempt} />`)}</ul>`}
    ${attempts && webhooks.length > 0 && html`<p class="quiet">${text.webhooks(webhooks.length, disabled)}</p>`}
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
    <${History} project=${project} rotation=${rotation} />
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
  const environmentOf = (/** @type {any} */ rotation) => environments.find(({ id }) => id === rotation.environment_id);
  return html`<${Heading} title=${shared.sections.names.rotations} about=${text.about} />
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
    ${asked &&
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
