// Shared parts of the sections: frame, loading, and the text for users without permission.

import { useEffect, useState } from "preact/hooks";

import { api, person } from "../api.js";
import { Bar, ProjectNavigation, TeamNavigation } from "../parts/bar.js";
import { html } from "../parts/html.js";
import { Empty, Failed, Skeleton, errorText, notify } from "../parts/messages.js";
import { ago, exactly, words as shared } from "../words.js";
import { requests } from "./api.js";
import { words } from "./words.js";

/**
 * Project (if any) and team of a section; `isAdmin` is true for owners and admins of the team.
 * @typedef {{ project?: any, team: any, isAdmin: boolean }} Place
 */

/**
 * Loads data when the section opens. Returns the data or the error, and functions to load it again.
 * @param {() => Promise<any>} read
 */
export function useLoaded(read) {
  const [found, setFound] = useState(/** @type {{ data?: any, error?: any }} */ ({}));
  /** Loads the data again. Until then, and if this fails, the old data stays visible. */
  const reload = () => read().then((data) => setFound({ data }), (error) => setFound(({ data }) => ({ data, error })));
  const begin = () => {
    setFound({});
    return reload();
  };
  useEffect(() => void begin(), []);
  return { ...found, begin, reload };
}

/**
 * Error of a request for data: beside older data if there are any, and otherwise instead of content.
 * @param {{ data?: any, error?: any, begin: () => void, reload: () => void }} properties
 */
export function LoadError({ data, error, begin, reload }) {
  if (!error) return null;
  if (!data) return html`<${Failed} error=${error} onRetry=${begin} />`;
  return html`<div class="failure" role="alert">
    <p>${errorText(error)}</p>
    <p>${words.stale}</p>
    <button onClick=${reload}>${shared.retry}</button>
  </div>`;
}

/**
 * Loads the project, if `names` contains one, and its team.
 * @param {{ project?: string, team?: string }} names @returns {Promise<Place>}
 */
export async function placeOf({ project: name, team }) {
  const project = name === undefined ? undefined : await api.project(name);
  const found = await requests.team(team ?? project.team_id);
  return { project, team: found, isAdmin: ["owner", "admin"].includes(found.role) };
}

/**
 * Frame of a section of a project or a team. `read` loads its data, and `content` renders them.
 * @param {{
 *   name: string, project?: string, team?: string, read: (place: Place) => Promise<any>,
 *   content: (place: Place, data: any, reload: () => Promise<void>) => any
 * }} properties
 */
export function Frame({ name, project, team, read, content }) {
  const loaded = useLoaded(async () => {
    const place = await placeOf({ project, team });
    return { place, data: await read(place) };
  });
  const { data, error, reload } = loaded;
  const title = shared.sections.names[name];
  const place = data?.place;
  const where = place?.project?.name ?? place?.team.name ?? project ?? "";
  useEffect(() => {
    document.title = [title, where, shared.product].filter(Boolean).join(" · ");
  }, [where]);
  return html`<${Bar} place=${where} />
    ${project !== undefined && html`<${ProjectNavigation} project=${place?.project ?? { slug: project }} current=${name} />`}
    ${team !== undefined && html`<${TeamNavigation} team=${team} current=${name} />`}
    <main class="list section">
      <${LoadError} ...${loaded} />
      ${!error && !data && html`<${Skeleton} rows=${6} />`}
      ${data && content(place, data.data, reload)}
    </main>`;
}

/**
 * Heading of a section: the title, text below it, and buttons.
 * @param {{ title: string, about?: any, children?: any }} properties
 */
export const Heading = ({ title, about, children }) => html`<div class="heading">
  <div><h1>${title}</h1>${about && html`<p class="quiet about">${about}</p>`}</div>
  ${children && html`<div class="actions">${children}</div>`}
</div>`;

/**
 * Age of a time, such as "2 hours ago", with the exact time as its tooltip.
 * @param {{ time: string }} properties
 */
export const Age = ({ time }) => html`<time datetime=${time} title=${exactly(time)}>${ago(time)}</time>`;

/** Returns the owners and admins of a team. @param {any} team */
const adminsOf = (team) =>
  team.members.filter((/** @type {any} */ { role, status }) => role !== "member" && status === "active");

/**
 * Text instead of a section, for users who are not owner or admin of the team. Names those.
 * @param {{ title: string, team: any }} properties
 */
export const AdminsOnly = ({ title, team }) => html`<${Heading} title=${title} />
  <${Empty} title=${words.adminsOnly.title}>
    <p>${words.adminsOnly.text(team.name)}</p>
    <ul class="people">
      ${adminsOf(team).map(
        (/** @type {any} */ { id, name, email, role }) => html`<li key=${id}><strong>${name ?? email}</strong> <span class="quiet">${email} · ${words.roles[role]}</span></li>`,
      )}
    </ul>
  <//>`;

/**
 * Copies text to the clipboard, and then shows the notice `said`.
 * @param {string} text @param {string} said
 */
export async function copyText(text, said) {
  try {
    await navigator.clipboard.writeText(text);
    notify({ text: said });
  } catch {
    notify({ text: words.copyRefused, isBad: true });
  }
}

/** Saves text as a file on the user's machine. @param {string} content @param {string} name @param {string} type */
export function saveFile(content, name, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** True if a member is the signed-in user. @param {any} member */
export const isSelf = (member) => member.user_id === person.value?.id;
