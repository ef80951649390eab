// Environments of a project, as a tree: a child inherits from its parent.

import { useState } from "preact/hooks";

import { api } from "../api.js";
import { Icon, html } from "../parts/html.js";
import { Dialog, notify } from "../parts/messages.js";
import { words as shared } from "../words.js";
import { requests } from "./api.js";
import { Field, FormDialog, Typed } from "./form.js";
import { ActionButton, Frame, Heading } from "./parts.js";
import { words } from "./words.js";

/** @typedef {import("./parts.js").Place} Place */

const text = words.environments;

/** Maximum number of keys that are listed by name. The other keys are only counted. */
const MAX_NAMED = 10;

/**
 * Number of environments that every new project has. They have the lowest `order`, and cannot be
 * deleted.
 */
const DEFAULTS = 3;

/** @typedef {{ id: string, name: string, description?: string, inherits_from?: string, order: number, values: number, missing: number, role: string }} Environment */

/**
 * Returns the environments in tree order, each with its depth: children follow their parent.
 * @param {Environment[]} all @param {string} [parent] @param {number} [depth] @returns {{ environment: Environment, depth: number }[]}
 */
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

/**
 * Returns the keys whose inheritance changes if an environment gets a new parent: newly inherited,
 * no longer inherited, or inherited from another environment.
 * @param {any} comparison @param {string} id @param {string} parent empty for none
 */
export function effectOf({ environments, keys }, id, parent) {
  const placeOf = (/** @type {string} */ wanted) => environments.findIndex((/** @type {any} */ one) => one.id === wanted);
  const [place, above] = [placeOf(id), placeOf(parent)];
  const effect = { appear: /** @type {string[]} */ ([]), change: /** @type {string[]} */ ([]), vanish: /** @type {string[]} */ ([]) };
  for (const { key, cells } of keys) {
    const cell = cells[place];
    if (cell && ["own", "override", "hidden"].includes(cell.state)) continue;
    const next = cells[above];
    const before = cell?.state === "inherited" ? cell.from : null;
    const isValue = next && !["hidden", "inherited_hidden"].includes(next.state);
    const from = !isValue ? null : next.state === "inherited" ? next.from : environments[above].name;
    if (before === from) continue;
    effect[before === null ? "appear" : from === null ? "vanish" : "change"].push(key);
  }
  return effect;
}

/**
 * List item for an environment, indented by its depth in the tree.
 * @param {{ environment: Environment, depth: number, isAdmin: boolean, onEdit: () => void, onDelete: () => void }} properties
 */
function Row({ environment, depth, isAdmin, onEdit, onDelete }) {
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
    ${isAdmin && html`<button aria-label=${`${text.edit}: ${name}`} onClick=${onEdit}>${text.edit}</button>`}
    ${isAdmin && !isDefault && html`<button class="danger" aria-label=${`${text.remove}: ${name}`} onClick=${onDelete}>${text.remove}</button>`}
  </li>`;
}

/**
 * Dialog to create an environment.
 * @param {{ project: any, all: Environment[], onClose: () => void, onDone: (name: string) => void }} properties
 */
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

/**
 * List of the effects of a new parent on the inherited secrets.
 * @param {{ effect: ReturnType<typeof effectOf> }} properties
 */
const Effect = ({ effect: { appear, change, vanish } }) => {
  const line = (/** @type {string[]} */ keys, /** @type {(names: string) => string} */ said) =>
    keys.length > 0 && html`<li>${said(keys.length > MAX_NAMED ? text.andMore(keys.slice(0, MAX_NAMED).join(", "), keys.length - MAX_NAMED) : keys.join(", "))}</li>`;
  return html`<ul class="plain" role="status">
    ${line(appear, text.appear)}${line(change, text.change)}${line(vanish, text.vanish)}
    ${!appear.length && !change.length && !vanish.length && html`<li>${text.noEffect}</li>`}
  </ul>`;
};

/**
 * Dialog to change the name, parent and description of an environment.
 * @param {{ project: any, comparison: any, environment: Environment, all: Environment[], onClose: () => void, onDone: (name: string) => void }} properties
 */
function Edit({ project, comparison, environment, all, onClose, onDone }) {
  const { id, name, description = "", inherits_from = "", order } = environment;
  const [form, setForm] = useState({ name, parent: inherits_from, description });
  const set = (/** @type {string} */ field) => (/** @type {any} */ { target }) => setForm((current) => ({ ...current, [field]: target.value }));
  const isOtherParent = form.parent !== inherits_from;
  const isDefault = order < DEFAULTS;
  const changes = {
    ...(form.name !== name && { name: form.name }),
    ...(form.description !== description && { description: form.description }),
    ...(isOtherParent && { inherits_from: form.parent || null }),
  };
  const change = async () => {
    await requests.changeEnvironment(project.slug, id, changes);
    onDone(form.name);
  };
  const excluded = new Set([id, ...treeOf(all, id).map((descendant) => descendant.environment.id)]);
  const parents = all.filter((one) => one.id === inherits_from || (!excluded.has(one.id) && isReadable(all, one)));
  return html`<${FormDialog}
    title=${text.editTitle(name)}
    submit=${text.save}
    isReady=${form.name.trim() !== "" && Object.keys(changes).length > 0}
    fields=${["name", "inherits_from", "description"]}
    onClose=${onClose}
    request=${change}
  >
    ${(/** @type {any} */ error) => html`
      <${Field} label=${text.name} name="name" hint=${isDefault ? text.standardHint : text.renameHint} error=${error}
        control=${(/** @type {any} */ bound) => html`<input ...${bound} type="text" autocomplete="off" readonly=${isDefault} value=${form.name} onInput=${set("name")} />`} />
      <${Field} label=${text.parent} name="inherits_from" error=${error}
        control=${(/** @type {any} */ bound) => html`<select ...${bound} onChange=${set("parent")}>
          <option value="" selected=${form.parent === ""}>${text.noParent}</option>
          ${parents.map((one) => html`<option key=${one.id} value=${one.id} selected=${one.id === form.parent}>${one.name}</option>`)}
        </select>`} />
      ${isOtherParent && html`<${Effect} effect=${effectOf(comparison, id, form.parent)} />`}
      <${Field} label=${text.description} name="description" error=${error}
        control=${(/** @type {any} */ bound) => html`<input ...${bound} type="text" autocomplete="off" value=${form.description} onInput=${set("description")} />`} />`}
  <//>`;
}

/**
 * Dialog to delete an environment, or to explain that it still has children.
 * @param {{ project: any, environment: Environment, childEnvironments: Environment[], onClose: () => void, onDone: () => void }} properties
 */
function Delete({ project, environment, childEnvironments, onClose, onDone }) {
  const [typed, setTyped] = useState("");
  const { id, name } = environment;
  const remove = async () => {
    await requests.deleteEnvironment(project.slug, id);
    onDone();
  };
  if (childEnvironments.length > 0) {
    return html`<${Dialog} title=${text.childrenTitle(name)} onClose=${onClose}>
      <p>${text.children}</p>
      <ul class="plain">${childEnvironments.map((child) => html`<li key=${child.id}>${child.name}</li>`)}</ul>
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
      <${Typed} label=${text.removeType(name)} error=${error} value=${typed} onChange=${setTyped} />`}
  <//>`;
}

/**
 * List of a project's environments, with the dialogs to change them.
 * @param {{ place: Place, all: Environment[], comparison: any, reload: () => Promise<void> }} properties
 */
function Environments({ place, all, comparison, reload }) {
  const [asked, setAsked] = useState(/** @type {{ action: string, environment?: any } | null} */ (null));
  const close = () => setAsked(null);
  const done = async (/** @type {string} */ said) => {
    close();
    notify({ text: said });
    await reload();
  };
  const { action, environment: chosen } = asked ?? {};
  return html`<${Heading} title=${shared.sections.names.environments} about=${text.about}>
      <${ActionButton} name="newEnvironment" run=${() => setAsked({ action: "create" })} />
    <//>
    <ul class="items">
      ${treeOf(all).map(
        ({ environment, depth }) => html`<${Row}
          key=${environment.id}
          environment=${environment}
          depth=${depth}
          isAdmin=${place.isAdmin}
          onEdit=${() => setAsked({ action: "edit", environment })}
          onDelete=${() => setAsked({ action: "delete", environment })}
        />`,
      )}
    </ul>
    ${!place.isAdmin && html`<p class="hint">${text.removeDenied}</p>`}
    ${action === "create" && html`<${Create} project=${place.project} all=${all} onClose=${close} onDone=${(/** @type {string} */ name) => done(text.created(name))} />`}
    ${action === "edit" && html`<${Edit} project=${place.project} comparison=${comparison} environment=${chosen} all=${all} onClose=${close} onDone=${(/** @type {string} */ name) => done(text.changed(name))} />`}
    ${action === "delete" &&
    html`<${Delete}
      project=${place.project}
      environment=${chosen}
      childEnvironments=${all.filter(({ inherits_from }) => inherits_from === chosen.id)}
      onClose=${close}
      onDone=${() => done(text.removed(chosen.name))}
    />`}`;
}

/**
 * Loads the environments of a project, each with its numbers of values and missing keys and the
 * user's role, and their comparison.
 * @param {Place} place
 */
async function read({ project }) {
  const [fresh, { body: comparison }] = await Promise.all([api.project(project.slug), api.compare(project.slug, {})]);
  const all = fresh.environments.map((/** @type {any} */ environment) => {
    const column = comparison.environments.findIndex((/** @type {any} */ { id }) => id === environment.id);
    const cells = comparison.keys.map((/** @type {any} */ { cells }) => cells[column]);
    const values = cells.filter((/** @type {any} */ cell) => cell && !["hidden", "inherited_hidden"].includes(cell.state)).length;
    const { role = "none", missing = 0 } = comparison.environments[column] ?? {};
    return { ...environment, values, missing, role };
  });
  return { all, comparison };
}

/** Section with the environments of a project. @param {{ project: string }} properties */
export function Content({ project }) {
  const content = (/** @type {Place} */ place, /** @type {any} */ data, /** @type {any} */ reload) =>
    html`<${Environments} place=${place} all=${data.all} comparison=${data.comparison} reload=${reload} />`;
  return html`<${Frame} name="environments" project=${project} read=${read} content=${content} />`;
}
