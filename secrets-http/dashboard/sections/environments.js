// Environments of a project, as a tree: a child inherits from its parent.

import { useState } from "preact/hooks";

import { api } from "../api.js";
import { Dialog } from "../parts/dialog.js";
import { Field, FormDialog } from "../parts/form.js";
import { html } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { notify } from "../parts/notice.js";
import { words as shared } from "../words.js";
import { requests } from "./api.js";
import { Frame, Heading } from "./parts.js";
import { words } from "./words.js";

const text = words.environments;

/** Number of environments that come with a project and cannot be deleted. They have the lowest orders. */
const DEFAULTS = 3;

/** @typedef {{ id: string, name: string, description?: string, inherits_from?: string, order: number, values: number, missing: number, role: string }} Environment */

/** Puts children below their parents. @param {Environment[]} all @param {string} [parent] @param {number} [depth] @returns {{ environment: Environment, depth: number }[]} */
export function treeOf(all, parent = undefined, depth = 0) {
  return all
    .filter(({ inherits_from }) => inherits_from === parent)
    .flatMap((environment) => [{ environment, depth }, ...treeOf(all, environment.id, depth + 1)]);
}

/** True if an environment and all its ancestors can be read. @param {Environment[]} all @param {Environment | undefined} environment @returns {boolean} */
function isReadable(all, environment) {
  if (!environment || environment.role === "none") return false;
  const parent = environment.inherits_from;
  return !parent || isReadable(all, all.find(({ id }) => id === parent));
}

/** @param {{ environment: Environment, depth: number, isAdmin: boolean, onDelete: () => void }} properties */
function Row({ environment, depth, isAdmin, onDelete }) {
  const { name, description, values, missing, role, order } = environment;
  const isDefault = order < DEFAULTS;
  return html`<li class=${`entry depth-${Math.min(depth, 6)}`}>
    ${depth > 0 && html`<${Icon} name="inherited" />`}
    <div class="what">
      <p class="title">${name}${isDefault && html` <span class="tag">${text.standard}</span>`}</p>
      ${description && html`<p class="quiet">${description}</p>`}
    </div>
    <p class="quiet counts">
      ${role === "none" ? html`<${Icon} name="noAccess" /> ${text.noAccess}` : text.values(values)}
      ${role !== "none" && missing > 0 && html` · <span class="lack">${text.missing(missing)}</span>`}
    </p>
    ${isAdmin && !isDefault && html`<button class="danger" aria-label=${`${text.remove}: ${name}`} onClick=${onDelete}>${text.remove}</button>`}
  </li>`;
}

/** @param {{ project: any, all: Environment[], onClose: () => void, onDone: (name: string) => void }} properties */
function Create({ project, all, onClose, onDone }) {
  const [form, setForm] = useState({ name: "", parent: "", description: "" });
  const set = (/** @type {string} */ field) => (/** @type {any} */ { target }) => setForm((current) => ({ ...current, [field]: target.value }));
  const create = async () => {
    const { name, parent, description } = form;
    await requests.createEnvironment(project.slug, { name, inherits_from: parent || undefined, description: description || undefined });
    onDone(name);
  };
  return html`<${FormDialog}
    title=${text.createTitle}
    submit=${text.create}
    isReady=${form.name.trim() !== ""}
    fields=${["name", "inherits_from", "description"]}
    onClose=${onClose}
    request=${create}
  >
    ${(/** @type {any} */ error) => html`
      <${Field} label=${text.name} name="name" hint=${text.nameHint} error=${error}
        control=${(/** @type {any} */ bound) => html`<input ...${bound} type="text" autocomplete="off" value=${form.name} onInput=${set("name")} />`} />
      <${Field} label=${text.parent} name="inherits_from" hint=${text.parentHint} error=${error}
        control=${(/** @type {any} */ bound) => html`<select ...${bound} onChange=${set("parent")}>
          <option value="">${text.noParent}</option>
          ${all.filter((one) => isReadable(all, one)).map(({ id, name }) => html`<option key=${id} value=${id}>${name}</option>`)}
        </select>`} />
      <${Field} label=${text.description} name="description" error=${error}
        control=${(/** @type {any} */ bound) => html`<input ...${bound} type="text" autocomplete="off" value=${form.description} onInput=${set("description")} />`} />`}
  <//>`;
}

/** @param {{ project: any, environment: Environment, heirs: Environment[], onClose: () => void, onDone: () => void }} properties */
function Delete({ project, environment, heirs, onClose, onDone }) {
  const [typed, setTyped] = useState("");
  const { id, name } = environment;
  const remove = async () => {
    await requests.deleteEnvironment(project.slug, id);
    onDone();
  };
  if (heirs.length > 0) {
    return html`<${Dialog} title=${text.heirsTitle(name)} onClose=${onClose}>
      <p>${text.heirs}</p>
      <ul class="plain">${heirs.map((heir) => html`<li key=${heir.id}>${heir.name}</li>`)}</ul>
    <//>`;
  }
  return html`<${FormDialog}
    title=${text.removeTitle(name)}
    submit=${text.remove}
    isDangerous
    isReady=${typed === name}
    onClose=${onClose}
    request=${remove}
  >
    ${(/** @type {any} */ error) => html`<p>${text.removeText}</p>
      <${Field} label=${text.removeType(name)} name="confirm" error=${error}
        control=${(/** @type {any} */ bound) => html`<input ...${bound} type="text" autocomplete="off" spellcheck=${false} value=${typed} onInput=${(/** @type {any} */ { target }) => setTyped(target.value)} />`} />`}
  <//>`;
}

/** @param {{ place: import("./parts.js").Place, all: Environment[], reload: () => Promise<void> }} properties */
function Environments({ place, all, reload }) {
  const [asked, setAsked] = useState(/** @type {{ environment?: Environment } | null} */ (null));
  const close = () => setAsked(null);
  const done = async (/** @type {string} */ said) => {
    close();
    notify({ text: said });
    await reload();
  };
  const chosen = asked?.environment;
  return html`<${Heading} title=${shared.sections.names.environments} about=${text.about}>
      <button class="main" onClick=${() => setAsked({})}><${Icon} name="plus" />${text.create}</button>
    <//>
    <ul class="items">
      ${treeOf(all).map(
        ({ environment, depth }) => html`<${Row}
          key=${environment.id}
          environment=${environment}
          depth=${depth}
          isAdmin=${place.isAdmin}
          onDelete=${() => setAsked({ environment })}
        />`,
      )}
    </ul>
    ${!place.isAdmin && html`<p class="hint">${text.removeDenied}</p>`}
    ${asked && !chosen && html`<${Create} project=${place.project} all=${all} onClose=${close} onDone=${(/** @type {string} */ name) => done(text.created(name))} />`}
    ${chosen &&
    html`<${Delete}
      project=${place.project}
      environment=${chosen}
      heirs=${all.filter(({ inherits_from }) => inherits_from === chosen.id)}
      onClose=${close}
      onDone=${() => done(text.removed(chosen.name))}
    />`}`;
}

/** Adds the counts of the comparison to the environments. @param {import("./parts.js").Place} place */
async function read({ project }) {
  const [fresh, { body }] = await Promise.all([api.project(project.slug), api.compare(project.slug, {})]);
  return fresh.environments.map((/** @type {any} */ environment) => {
    const column = body.environments.findIndex((/** @type {any} */ { id }) => id === environment.id);
    const cells = body.keys.map((/** @type {any} */ { cells }) => cells[column]);
    const values = cells.filter((/** @type {any} */ cell) => cell && !["hidden", "inherited_hidden"].includes(cell.state)).length;
    const { role = "none", missing = 0 } = body.environments[column] ?? {};
    return { ...environment, values, missing, role };
  });
}

/** @param {{ project: string }} properties */
export function Content({ project }) {
  const content = (/** @type {import("./parts.js").Place} */ place, /** @type {any} */ data, /** @type {any} */ reload) =>
    html`<${Environments} place=${place} all=${data} reload=${reload} />`;
  return html`<${Frame} name="environments" project=${project} read=${read} content=${content} />`;
}
