// The projects of the user, by team.

import { useEffect, useMemo, useState } from "preact/hooks";

import { api, person } from "../api.js";
import { textOf, useDrop } from "../grid/editing.js";
import { Bar } from "../parts/bar.js";
import { Icon, html } from "../parts/html.js";
import { Empty, Failed, Skeleton, late } from "../parts/messages.js";
import { parameter, pathOf, setParameters, teamPath } from "../routes.js";
import { ago, exactly, words as shared } from "../words.js";
import { ActionButton } from "./parts.js";
import { words } from "./words.js";

/** Filters projects by text. @param {any[]} projects @param {string} text */
export function matching(projects, text) {
  const wanted = text.trim().toLowerCase();
  return projects.filter(({ name, slug, description = "" }) =>
    [name, slug, description].some((part) => part.toLowerCase().includes(wanted)),
  );
}

/**
 * Groups projects by team, in the order of the user's teams.
 * @param {any[]} projects @param {any[]} teams
 */
function byTeam(projects, teams) {
  const names = new Map(teams.map(({ team_id, team }) => [team_id, team?.name ?? ""]));
  const ids = [...new Set([...names.keys(), ...projects.map(({ team_id }) => team_id)])];
  return ids
    .map((id) => ({ id, name: names.get(id) ?? "", projects: projects.filter(({ team_id }) => team_id === id) }))
    .filter(({ projects }) => projects.length);
}

/** @param {{ project: any }} properties */
function Project({ project }) {
  return html`<li>
    <a class="item" href=${pathOf(project)}>
      <span class="what"><span class="title">${project.name}</span>
        ${project.description && html`<span class="about">${project.description}</span>`}
      </span>
      <code class="slug">${project.slug}</code>
      <time class="quiet" datetime=${project.updated_at} title=${exactly(project.updated_at)}>
        ${words.projects.changed} ${ago(project.updated_at)}
      </time>
    </a>
  </li>`;
}

/** Dialog for a new project. Its code is loaded when it opens. A dropped file opens it too. */
function useNewProject() {
  const [Dialog, setDialog] = useState(/** @type {any} */ (null));
  const [file, setFile] = useState(/** @type {{ name: string, text: string } | null} */ (null));
  const show = async (/** @type {{ name: string, text: string } | null} */ given) => {
    setFile(given);
    const module = await late(() => import("./new-project.js"));
    // `setDialog` calls a function that it gets, so the component is wrapped in one.
    if (module) setDialog(() => module.NewProject);
  };
  useDrop(async (dropped) => {
    const text = await textOf(dropped);
    if (text !== null) await show({ name: dropped.name, text });
  });
  const dialog = Dialog && html`<${Dialog} file=${file} onClose=${() => setDialog(null)} />`;
  return { create: () => show(null), dialog };
}

/** @param {{ projects: any[], onCreate: () => void }} properties */
function List({ projects, onCreate }) {
  const [text, setText] = useState(() => parameter("q"));
  const teams = useMemo(() => byTeam(matching(projects, text), person.value?.teams ?? []), [projects, text]);
  const change = (/** @type {any} */ event) => {
    setText(event.target.value);
    setParameters({ q: event.target.value });
  };
  return html`<div class="heading">
      <h1>${words.projects.title}</h1>
      <div class="actions find">
        <label class="search"><${Icon} name="search" />
          <input type="search" aria-label=${words.projects.filter} placeholder=${words.projects.filter} value=${text} onInput=${change} />
        </label>
        <${ActionButton} name="newProject" run=${onCreate} />
      </div>
    </div>
    ${!teams.length && html`<p class="quiet" role="status">${words.projects.noMatch}</p>`}
    ${teams.map(
      (team) => html`<section key=${team.id}>
        ${team.name && html`<h2 class="group"><a href=${teamPath(team.id, "members")}>${team.name}</a></h2>`}
        <ul class="items">
          ${team.projects.map((/** @type {any} */ project) => html`<${Project} key=${project.id} project=${project} />`)}
        </ul>
      </section>`,
    )}`;
}

const EXAMPLE = 'secrets project create "Web API"\nsecrets init --project web-api --environment development\nsecrets import .env';

export function Content() {
  const [found, setFound] = useState(/** @type {{ projects?: any[], error?: any }} */ ({}));
  const begin = () => {
    setFound({});
    api.projects().then((projects) => setFound({ projects }), (error) => setFound({ error }));
  };
  useEffect(() => {
    document.title = `${words.projects.title} · ${shared.product}`;
    begin();
  }, []);
  const { projects, error } = found;
  const { create, dialog } = useNewProject();
  return html`<${Bar} />
    <main class="list">
      ${error && html`<${Failed} error=${error} onRetry=${begin} />`}
      ${!error && !projects && html`<${Skeleton} rows=${6} />`}
      ${projects?.length === 0 &&
      html`<${Empty} title=${words.projects.none} actions=${html`<${ActionButton} name="newProject" run=${create} />`}><p>${words.projects.noneText}</p><pre><code>${EXAMPLE}</code></pre><//>`}
      ${projects && projects.length > 0 && html`<${List} projects=${projects} onCreate=${create} />`}
    </main>${dialog}`;
}
