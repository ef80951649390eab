// Command palette: goes to a project, a section or a key, and runs actions of the screen.

import { useEffect, useId, useLayoutEffect, useMemo, useState } from "preact/hooks";

import { api, person } from "../api.js";
import { rightsOf } from "../grid/controls.js";
import { shownGrid } from "../grid/state.js";
import { go, leave } from "../parts/bar.js";
import { THEMES, setTheme, theme } from "../parts/browser.js";
import { html } from "../parts/html.js";
import { Dialog, errorText } from "../parts/messages.js";
import { PROJECT_SECTIONS, TEAM_SECTIONS, accountPath, navigate, pathOf, projectsPath, requested, route, teamPath } from "../routes.js";
import { requests } from "../sections/api.js";
import { ACTIONS, mayDo } from "../sections/parts.js";
import { matching } from "./matching.js";
import { words } from "./words.js";

/** @typedef {import("./matching.js").Command} Command */
/** @typedef {import("../grid/state.js").GridState} GridState */

/** @typedef {import("../sections/parts.js").Rights} Rights */
/** @typedef {{ projects: any[], permissions?: any[], error?: any }} Found projects of the user, and permissions in the current one */

/**
 * @param {Command["kind"]} kind @param {string} name @param {() => void} run
 * @param {{ id?: string, about?: string, also?: string, keys?: string }} [more]
 * @returns {Command}
 */
const command = (kind, name, run, { id = name, about = "", also, keys } = {}) => ({ id: `${kind}/${id}`, kind, name, run, about, also, keys });

/**
 * Place whose sections have actions: the path of each section, by its name, and what the user may do there.
 * @typedef {{ paths: Record<string, string>, rights: Rights, about?: string }} Target `about` is the name of a team
 */

/** Paths of the sections of a team. @param {string} team */
const pathsOfTeam = (team) => Object.fromEntries(TEAM_SECTIONS.map((name) => [name, teamPath(team, name)]));

/** Paths of the sections of a project. @param {string} project */
function pathsOfProject(project) {
  const path = pathOf({ slug: project });
  return { secrets: path, ...Object.fromEntries(PROJECT_SECTIONS.map((name) => [name, `${path}/${name}`])) };
}

/** Returns what the user may do in a team, and in the grid or the project that is shown. @param {string | undefined} team @param {Found} found */
function rightsIn(team, { projects, permissions = [] }) {
  const grid = shownGrid.value;
  const { role } = person.value.teams?.find((/** @type {any} */ { team_id }) => team_id === team) ?? {};
  return {
    isAdmin: ["owner", "admin"].includes(role),
    projects: projects.filter(({ team_id }) => team_id === team).length,
    readable: permissions.filter(({ can_read }) => can_read).length,
    writable: permissions.filter(({ can_write }) => can_write).length,
    ...(grid && rightsOf(grid)),
  };
}

/**
 * Returns the places whose actions are listed: the account, and the current project and its team. On a screen
 * without a team, all teams of the user.
 * @param {Found} found @returns {Target[]}
 */
function targets(found) {
  const { project, team } = route.value;
  const fixed = { paths: { projects: projectsPath, account: accountPath }, rights: {} };
  if (project === undefined && team === undefined) {
    const { teams = [] } = person.value;
    const ofTeam = (/** @type {any} */ { team_id, team }) => ({ paths: pathsOfTeam(team_id), rights: rightsIn(team_id, found), about: team?.name });
    return [fixed, ...teams.map(ofTeam)];
  }
  const id = team ?? found.projects.find(({ slug }) => slug === project)?.team_id;
  const ofTeam = id === undefined ? {} : pathsOfTeam(id);
  return [{ paths: { ...ofTeam, ...(project !== undefined && pathsOfProject(project)) }, rights: rightsIn(id, found) }, fixed];
}

/** Opens a section unless it is open, and runs one of its actions. @param {string} path @param {string} action */
function perform(path, action) {
  if (path !== location.pathname) go(path);
  if (path === location.pathname) requested.value = action;
}

/** Main actions of all sections. @param {Found} found */
const actions = (found) =>
  targets(found).flatMap(({ paths, rights, about = "" }) =>
    Object.entries(ACTIONS).flatMap(([name, { section, label, keys }]) => {
      const path = paths[section];
      if (path === undefined || !mayDo(name, rights)) return [];
      const more = { id: `${path} ${name}`, about: `${titleOf(section)} ${about}`.trim(), also: words.palette.also[name], keys: keys && shownGrid.value ? keys : undefined };
      return [{ section, command: command("action", label, () => perform(path, name), more) }];
    }),
  );

/** Actions of all screens. */
const sharedActions = () => [
  ...THEMES.filter((one) => one !== theme.value).map((one) => command("action", words.theme[one], () => setTheme(one))),
  command("action", words.account.signOut, leave),
];

/** Name of a section, or of a screen without a project. @param {string} section */
const titleOf = (section) => words.sections.names[section] ?? (section === "account" ? words.account.settings : words.palette.projects);

/** Sections of the current project or team, the members of all teams, and the screens without a project. */
function sections() {
  const { project, team } = route.value;
  const { teams = [] } = person.value;
  const section = (/** @type {string} */ name, /** @type {string} */ path, about = "") => {
    const letter = words.sections.letters[name];
    const more = { id: path, about, also: `${words.palette.open} ${words.palette.also[name] ?? ""}`, keys: letter && !about ? `G ${letter.toUpperCase()}` : undefined };
    return command("section", titleOf(name), () => (letter ? go(path) : navigate(path)), more);
  };
  const paths = project === undefined ? (team === undefined ? {} : pathsOfTeam(team)) : pathsOfProject(project);
  return [
    ...Object.entries(paths).map(([name, path]) => section(name, path)),
    section("projects", projectsPath),
    section("account", accountPath, words.account.menu),
    ...teams
      .filter((/** @type {any} */ { team_id }) => team_id !== team)
      .map((/** @type {any} */ one) => section("members", teamPath(one.team_id, "members"), one.team?.name ?? words.sections.ofTeam)),
  ];
}

/** Keys of the grid. @param {GridState} grid */
function keys(grid) {
  const environment = grid.target().environment ?? grid.environments.value[0];
  return grid.merged.value.keys.map(({ key }) =>
    command("key", key, () => {
      grid.goTo(key, environment.id);
      document.getElementById("grid")?.focus();
    }),
  );
}

/** Loads the projects of the user and the permissions in the current one, and returns all commands. */
function useCommands() {
  const [found, setFound] = useState(/** @type {Found} */ ({ projects: [] }));
  const grid = shownGrid.value;
  useEffect(() => {
    const { project } = route.value;
    const permissions = project === undefined || grid ? undefined : requests.myPermissions(project).then((mine) => mine.permissions, () => undefined);
    const projects = api.projects().then((projects) => ({ projects }), (error) => ({ projects: [], error }));
    Promise.all([projects, permissions]).then(([listed, permissions]) => setFound({ ...listed, permissions }));
  }, []);
  const commands = useMemo(() => {
    const projects = found.projects.map((project) => command("project", project.name, () => go(pathOf(project)), { id: project.id, about: project.slug }));
    const [here, elsewhere] = [true, false].map((isHere) =>
      actions(found).filter(({ section }) => (section === route.value.screen) === isHere).map((action) => action.command));
    return [...here, ...sections(), ...projects, ...elsewhere, ...sharedActions(), ...(grid ? keys(grid) : [])];
  }, [found, grid]);
  return { commands, error: found.error };
}

/** @param {{ id: string, command: Command, isActive: boolean, onChoose: () => void }} properties */
const Option = ({ id, command: { kind, name, about, keys }, isActive, onChoose }) => html`<li id=${id} role="option" aria-selected=${isActive} onClick=${onChoose}>
  <span class=${kind === "key" ? "name mono" : "name"}>${name}</span>
  ${about && html`<span class="quiet about">${about}</span>`}
  ${keys && html`<kbd>${keys}</kbd>`}<span class="quiet kind">${words.palette.kinds[kind]}</span>
</li>`;

/**
 * Window with a field to search for commands, and their list.
 * @param {{ onChoose: (run: () => void) => void, onClose: () => void }} properties `onChoose` closes the window, and runs
 *   the command
 */
export function Palette({ onChoose, onClose }) {
  const id = useId();
  const { commands, error } = useCommands();
  const [text, setText] = useState("");
  const [activeId, setActiveId] = useState("");
  const found = useMemo(() => matching(commands, text), [commands, text]);
  const active = Math.max(0, found.findIndex((one) => one.id === activeId));
  const optionId = (/** @type {number} */ place) => `${id}-${place}`;
  useLayoutEffect(() => document.getElementById(optionId(active))?.scrollIntoView({ block: "nearest" }), [active, found]);
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!found.length || (!step && event.key !== "Enter") || event.isComposing) return;
    event.preventDefault();
    if (step) setActiveId(found[(active + step + found.length) % found.length].id);
    else onChoose(found[active].run);
  };
  const change = (/** @type {any} */ event) => {
    const { value } = event.target;
    setText(value);
    // The first result stays active when the projects have been loaded.
    setActiveId(matching(commands, value)[0]?.id ?? "");
  };
  return html`<${Dialog} title=${words.palette.title} onClose=${onClose} kind="palette">
    <input type="text" role="combobox" autofocus aria-label=${words.palette.field} placeholder=${words.palette.field} aria-autocomplete="list"
      aria-expanded=${found.length > 0} aria-controls=${id} aria-activedescendant=${found.length ? optionId(active) : undefined}
      autocomplete="off" spellcheck="false" value=${text} onInput=${change} onKeyDown=${onKeyDown} />
    <ul id=${id} role="listbox" aria-label=${words.palette.title}>
      ${found.map((one, place) => html`<${Option} key=${one.id} id=${optionId(place)} command=${one} isActive=${place === active} onChoose=${() => onChoose(one.run)} />`)}
    </ul>
    <p class=${found.length && !error ? "unseen" : "quiet"} role="status">${found.length ? words.palette.results(found.length) : words.palette.none}
      ${error && ` ${words.palette.failed(errorText(error))}`}</p>
  <//>`;
}
