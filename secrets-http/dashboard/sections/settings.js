// Settings of a project: name, description and deletion.

import { useEffect, useState } from "preact/hooks";

import { html } from "../parts/html.js";
import { notify } from "../parts/messages.js";
import { navigate, projectsPath } from "../routes.js";
import { words as shared } from "../words.js";
import { requests } from "./api.js";
import { Field, FormDialog, RequestError, Typed, useRequest } from "./form.js";
import { ActionButton, AdminsOnly, Frame, Heading } from "./parts.js";
import { words } from "./words.js";

const text = words.settings;

/** Restores a deleted project, and shows a notice. @param {{ id: string, name: string }} project */
export async function restore({ id, name }) {
  await requests.restoreProject(id);
  notify({ text: text.restored(name) });
}

/** Dialog to delete a project. @param {{ project: any, onClose: () => void }} properties */
function Delete({ project, onClose }) {
  const [typed, setTyped] = useState("");
  const { name } = project;
  const remove = async () => {
    await requests.deleteProject(project.slug);
    onClose();
    navigate(projectsPath);
    notify({ text: text.removed(name) });
  };
  return html`<${FormDialog} title=${text.removeTitle(name)} submit=${text.remove} isDangerous isReady=${typed === name} onClose=${onClose} request=${remove}>
    ${(/** @type {any} */ error) => html`<p>${text.removeText}</p>
      <${Typed} label=${text.removeType(name)} error=${error} value=${typed} onChange=${setTyped} />`}
  <//>`;
}

/**
 * Returns the edited fields that differ from the loaded project.
 * @param {Record<string, string>} edits @param {any} project
 */
const changesOf = (edits, project) =>
  Object.fromEntries(Object.entries(edits).filter(([field, value]) => value !== (project[field] ?? "")));

/**
 * Form for the name and the description of a project.
 * @param {{ project: any, reload: () => Promise<void> }} properties
 */
function Settings({ project, reload }) {
  const [edits, setEdits] = useState(/** @type {Record<string, string>} */ ({}));
  const [isAsked, setAsked] = useState(false);
  const { isBusy, error, run } = useRequest(async () => {
    // A field that is not sent keeps its value, which may be newer than the loaded one.
    await requests.changeProject(project.slug, changes);
    notify({ text: text.saved });
    await reload();
    // The service removes spaces at the ends, so a saved edit can differ from the loaded field.
    setEdits((current) => Object.fromEntries(Object.entries(current).filter(([field, value]) => value !== changes[field])));
  });
  const set = (/** @type {string} */ field) => (/** @type {any} */ { target }) => setEdits((current) => ({ ...current, [field]: target.value }));
  const { name, description } = { name: project.name, description: project.description ?? "", ...edits };
  const changes = changesOf(edits, project);
  // An edit that equals the loaded field is none.
  useEffect(() => setEdits((current) => changesOf(current, project)), [project]);
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    run(undefined);
  };
  return html`<${Heading} title=${shared.sections.names.settings} about=${text.about} />
    <form class="form" onSubmit=${save} novalidate>
      <${Field} label=${text.name} name="name" hint=${text.slug(project.slug)} error=${error}
        control=${(/** @type {any} */ bound) => html`<input ...${bound} type="text" autocomplete="off" value=${name} onInput=${set("name")} />`} />
      <${Field} label=${text.description} name="description" error=${error}
        control=${(/** @type {any} */ bound) => html`<input ...${bound} type="text" autocomplete="off" value=${description} onInput=${set("description")} />`} />
      <${RequestError} error=${error} fields=${["name", "description"]} />
      <div class="actions"><button class="main" disabled=${!Object.keys(changes).length || !name.trim() || isBusy}>${text.save}</button></div>
    </form>
    <div class="subheading"><h2>${text.remove}</h2></div>
    <ul class="items"><li class="entry"><p class="what">${text.removeText}</p><${ActionButton} name="deleteProject" rights=${{ isAdmin: true }} run=${() => setAsked(true)} /></li></ul>
    ${isAsked && html`<${Delete} project=${project} onClose=${() => setAsked(false)} />`}`;
}

/** Section with the settings of a project. @param {{ project: string }} properties */
export function Content({ project }) {
  const content = (/** @type {import("./parts.js").Place} */ place, /** @type {any} */ _data, /** @type {any} */ reload) =>
    place.isAdmin
      ? html`<${Settings} project=${place.project} reload=${reload} />`
      : html`<${AdminsOnly} title=${shared.sections.names.settings} team=${place.team} />`;
  return html`<${Frame} name="settings" project=${project} read=${async () => null} content=${content} />`;
}
