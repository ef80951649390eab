// Command palette: goes to a project, a section or a key, and runs actions of the screen.

import { useEffect, useId, useLayoutEffect, useMemo, useState } from "preact/hooks";

import { api, person } from "../api.js";
import { comparable, isWritable } from "../grid/editing.js";
import { shownGrid } from "../grid/state.js";
import { go, leave } from "../parts/bar.js";
import { THEMES, setTheme, theme } from "../parts/browser.js";
import { html } from "../parts/html.js";
import { Dialog, errorText } from "../parts/messages.js";
import { PROJECT_SECTIONS, TEAM_SECTIONS, accountPath, navigate, pathOf, projectsPath, route, teamPath } from "../routes.js";
import { matching } from "./matching.js";
import { words } from "./words.js";

/** @typedef {import("./matching.js").Command} Command */
/** @typedef {import("../grid/state.js").GridState} GridState */

/**
 * @param {Command["kind"]} kind @param {string} name @param {() => void} run
 * @param {{ id?: string, about?: string, keys?: string }} [more]
 * @returns {Command}
 */
const command = (kind, name, run, { id = name, about = "", keys } = {}) => ({ id: `${kind}/${id}`, kind, name, run, about, keys });

/** Actions of the grid. @param {GridState} grid */
function gridActions(grid) {
  const canWrite = grid.environments.value.some(isWritable);
  return [
    ...(grid.staged.value.changes.size ? [command("action", words.edit.review, () => (grid.isReviewing.value = true), { keys: "Ctrl-S" })] : []),
    ...(canWrite ? [command("action", words.edit.add, () => (grid.editing.value = "new"), { keys: "N" })] : []),
    ...(comparable(grid).length > 1 ? [command("action", words.grid.compare, () => (grid.isComparing.value = true), { keys: "D" })] : []),
    command("action", words.legend.title, () => (grid.isLegendOpen.value = true), { keys: "?" }),
  ];
}

/** Actions of all screens. */
const sharedActions = () => [
  ...THEMES.filter((one) => one !== theme.value).map((one) => command("action", words.theme[one], () => setTheme(one))),
  command("action", words.account.signOut, leave),
];

/** Sections of the current project or team, the members of all teams, and the screens without a project. */
function sections() {
  const { project, team } = route.value;
  const { teams = [] } = person.value;
  const section = (/** @type {string} */ name, /** @type {string} */ path, about = "") =>
    command("section", words.sections.names[name], () => go(path), { id: path, about, keys: about ? undefined : `G ${words.sections.letters[name].toUpperCase()}` });
  const path = project === undefined ? "" : pathOf({ slug: project });
  return [
    ...(path ? [section("secrets", path), ...PROJECT_SECTIONS.map((name) => section(name, `${path}/${name}`))] : []),
    ...(team === undefined ? [] : TEAM_SECTIONS.map((name) => section(name, teamPath(team, name)))),
    command("section", words.palette.projects, () => navigate(projectsPath)),
    command("section", words.account.settings, () => navigate(accountPath), { about: words.account.menu }),
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

/** Loads the projects of the user, and returns all commands. */
function useCommands() {
  const [found, setFound] = useState(/** @type {{ projects: any[], error?: any }} */ ({ projects: [] }));
  useEffect(() => void api.projects().then((projects) => setFound({ projects }), (error) => setFound({ projects: [], error })), []);
  const grid = shownGrid.value;
  const commands = useMemo(() => {
    const projects = found.projects.map((project) => command("project", project.name, () => go(pathOf(project)), { id: project.id, about: project.slug }));
    return [...(grid ? gridActions(grid) : []), ...sections(), ...projects, ...sharedActions(), ...(grid ? keys(grid) : [])];
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
