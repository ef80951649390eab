// Shared parts of the sections: frame, loading, actions, and the text for users without permission.

import { useEffect, useState } from "preact/hooks";

import { api, person } from "../api.js";
import { GRID_ACTIONS } from "../grid/controls.js";
import { Bar, ProjectNavigation, TeamNavigation } from "../parts/bar.js";
import { Icon, html } from "../parts/html.js";
import { Empty, Failed, Skeleton, errorText, notify } from "../parts/messages.js";
import { requested } from "../routes.js";
import { ago, exactly, words as shared } from "../words.js";
import { requests } from "./api.js";
import { words as rotations } from "./words-rotations.js";
import { words as scans } from "./words-scans.js";
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
 * Permissions of the user at a place: `isAdmin` as in `Place`, numbers of environments that the user may read and write,
 * of the team's projects, of other sessions and of staged changes. Numbers that are not known are absent.
 * @typedef {{ isAdmin?: boolean, readable?: number, writable?: number, projects?: number, others?: number, changes?: number,
 *   hasGrid?: boolean }} Rights
 *
 * @typedef {{ section: string, label: string, short?: string, icon?: string, kind?: string, keys?: string,
 *   may?: (rights: Rights) => boolean | undefined }} Action `short` is the text of the button if it is not `label`, `kind` its CSS
 *   class, `keys` a keyboard shortcut; without `may`, everyone may do it
 */

const isAdmin = (/** @type {Rights} */ rights) => rights.isAdmin;

/**
 * Main actions of all sections, by name. They are buttons of their section, and commands of the palette.
 * @type {Record<string, Action>}
 */
export const ACTIONS = {
  ...GRID_ACTIONS,
  newEnvironment: { section: "environments", label: words.environments.create, icon: "plus", kind: "main" },
  newRotation: { section: "rotations", label: rotations.create, icon: "plus", kind: "main", may: ({ writable = 0 }) => writable > 0 },
  newScan: { section: "scans", label: scans.create, icon: "search", kind: "main" },
  newToken: { section: "tokens", label: words.tokens.create, icon: "plus", kind: "main", may: ({ isAdmin, projects = 0 }) => isAdmin && projects > 0 },
  invite: { section: "members", label: words.members.invite, icon: "plus", kind: "main", may: isAdmin },
  csv: { section: "audit", label: words.audit.download("CSV"), short: "CSV", icon: "download", may: isAdmin },
  ndjson: { section: "audit", label: words.audit.download("NDJSON"), short: "NDJSON", icon: "download", may: isAdmin },
  verify: { section: "audit", label: words.audit.chain.verify, may: isAdmin },
  deleteProject: { section: "settings", label: words.settings.remove, kind: "danger", may: isAdmin },
  newProject: { section: "projects", label: words.projects.create, icon: "plus", kind: "main" },
  // The number of sessions is known only when they are shown.
  endOthers: { section: "account", label: words.account.endOthers, may: ({ others = 1 }) => others > 0 },
  download: { section: "account", label: words.account.download, icon: "download" },
  deleteAccount: { section: "account", label: words.account.remove, kind: "danger" },
};

/** True if the user may do an action. @param {string} name @param {Rights} rights */
export function mayDo(name, rights) {
  const { may } = ACTIONS[name];
  return may === undefined || Boolean(may(rights));
}

/**
 * Button of an action, if the user may do it. Also runs the action when the command palette requests it.
 * @param {{ name: string, rights?: Rights, run: () => void }} properties
 */
export function ActionButton({ name, rights = {}, run }) {
  const { label, short, icon, kind } = ACTIONS[name];
  const isPermitted = mayDo(name, rights);
  const isRequested = isPermitted && requested.value === name;
  useEffect(() => {
    if (!isRequested) return;
    requested.value = "";
    run();
  }, [isRequested]);
  return isPermitted && html`<button class=${kind} aria-label=${short && label} onClick=${run}>${icon && html`<${Icon} name=${icon} />`}${short ?? label}</button>`;
}

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
