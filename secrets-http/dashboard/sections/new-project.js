// Dialog: a new project, which then opens.

import { useState } from "preact/hooks";

import { person } from "../api.js";
import { given } from "../grid/editing.js";
import { html } from "../parts/html.js";
import { navigate, pathOf } from "../routes.js";
import { requests } from "./api.js";
import { Field, FormDialog } from "./form.js";
import { words } from "./words.js";

const text = words.newProject;

/**
 * Dialog to create a project, which then opens.
 * @param {{ onClose: () => void, file?: { name: string, text: string } | null }} properties the text of `file` is
 * offered for import when the new project is opened
 */
export function NewProject({ onClose, file = null }) {
  const { teams } = person.value;
  const [form, setForm] = useState({ name: "", description: "", team: teams[0]?.team_id });
  const set = (/** @type {string} */ field) => (/** @type {any} */ { target }) => setForm((current) => ({ ...current, [field]: target.value }));
  const create = async () => {
    const { name, description, team } = form;
    const project = await requests.createProject({ name, description: description || undefined, team_id: team });
    if (file) given.set(project.slug, file.text);
    onClose();
    navigate(pathOf(project));
  };
  return html`<${FormDialog}
    title=${text.title}
    submit=${text.create}
    isReady=${form.name.trim() !== ""}
    fields=${["name", "description", "team_id"]}
    onClose=${onClose}
    request=${create}
  >
    ${(/** @type {any} */ error) => html`
      ${file && html`<p>${text.file(file.name)}</p>`}
      <${Field} label=${text.name} name="name" hint=${text.hint} error=${error}
        control=${(/** @type {any} */ bound) => html`<input ...${bound} type="text" autocomplete="off" value=${form.name} onInput=${set("name")} />`} />
      ${teams.length > 1 &&
      html`<${Field} label=${text.team} name="team_id" error=${error}
        control=${(/** @type {any} */ bound) => html`<select ...${bound} onChange=${set("team")}>
          ${teams.map((/** @type {any} */ { team_id, team }) => html`<option key=${team_id} value=${team_id} selected=${team_id === form.team}>${team?.name ?? team_id}</option>`)}
        </select>`} />`}
      <${Field} label=${text.description} name="description" error=${error}
        control=${(/** @type {any} */ bound) => html`<input ...${bound} type="text" autocomplete="off" value=${form.description} onInput=${set("description")} />`} />`}
  <//>`;
}
