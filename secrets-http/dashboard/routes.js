// URLs of the dashboard: the screen for each path, and navigation without loading the page again.

import { effect, signal } from "@preact/signals";

/** Path prefix of the service, without a slash at its end. */
export const base = new URL(import.meta.url).pathname.replace(/\/assets\/[^/]+\/[^/]+$/, "");

/**
 * Name of a screen, with the slug of its project or the ID of its team. `unknown` is a path without a screen.
 * @typedef {{ screen: string, project?: string, team?: string }} Route
 */

/** Names of the dashboard pages of a project, as in the path `projects/{project}/{name}`. */
export const PROJECT_SECTIONS = ["environments", "rotations", "scans", "tokens", "access", "audit", "settings"];

/** Names of the dashboard pages of a team, as in the path `teams/{team}/{name}`. */
export const TEAM_SECTIONS = ["members", "tokens", "scans", "audit", "usage"];

/**
 * Names of all screens, by their path below the path of the service.
 * @type {Record<string, string>}
 */
export const SCREENS = {
  "": "projects",
  projects: "projects",
  account: "account",
  "projects/{project}": "secrets",
  ...Object.fromEntries(PROJECT_SECTIONS.map((name) => [`projects/{project}/${name}`, name])),
  ...Object.fromEntries(TEAM_SECTIONS.map((name) => [`teams/{team}/${name}`, name])),
};

/** Returns the screen that belongs to a path. @param {string} path @returns {Route} */
export function routeOf(path) {
  if (!path.startsWith(`${base}/`)) return { screen: "unknown" };
  const [place, name, ...rest] = path.slice(base.length + 1).split("/");
  const parameter = place === "teams" ? "team" : "project";
  const template = [place, ...(name === undefined ? [] : [`{${parameter}}`]), ...rest].join("/");
  if (!Object.hasOwn(SCREENS, template)) return { screen: "unknown" };
  return name === undefined ? { screen: SCREENS[template] } : { screen: SCREENS[template], [parameter]: decoded(name) };
}

/** Decodes a path segment, unless it is malformed. @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Current screen. */
export const route = signal(routeOf(location.pathname));

/** Name of the action that the current screen runs once it is shown; empty for none. */
export const requested = signal("");

/** @param {{ slug: string }} project */
export const pathOf = (project) => `${base}/projects/${encodeURIComponent(project.slug)}`;

/** @param {string} team ID @param {string} section */
export const teamPath = (team, section) => `${base}/teams/${encodeURIComponent(team)}/${section}`;

export const accountPath = `${base}/account`;

export const projectsPath = `${base}/projects`;

/** @typedef {{ exist: () => boolean, question: string }} Changes unsaved changes, and the question before they are lost */

/** Unsaved changes of the screen. @type {Set<Changes>} */
const unsaved = new Set();

/**
 * Registers unsaved changes: the user is asked before they are lost. Returns a function that unregisters them.
 * @param {Changes} changes
 */
export function protect(changes) {
  unsaved.add(changes);
  return () => void unsaved.delete(changes);
}

/** Returns false if the user wants to keep unsaved changes. */
export const mayLeave = () => [...unsaved].every(({ exist, question }) => !exist() || confirm(question));

/** Loads another page without a question about unsaved changes. @param {string} path */
export function leaveFor(path) {
  unsaved.clear();
  location.assign(path);
}

/**
 * Opens a screen. Returns false if it is open already, or if the user stays on the current one.
 * @param {string} path
 */
export function navigate(path) {
  if (path === location.pathname || !mayLeave()) return false;
  history.pushState(null, "", path);
  requested.value = "";
  route.value = routeOf(location.pathname);
  scrollTo(0, 0);
  return true;
}

/** Handles links within the dashboard, and the back and forward buttons. */
export function start() {
  let current = location.href;
  effect(() => {
    route.value;
    current = location.href;
  });
  addEventListener("beforeunload", (event) => {
    if ([...unsaved].some(({ exist }) => exist())) event.preventDefault();
  });
  addEventListener("popstate", () => {
    // The address has changed already: a refused change is taken back.
    if (!mayLeave()) return history.pushState(null, "", current);
    requested.value = "";
    route.value = routeOf(location.pathname);
  });
  addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!link || !isPlain || event.defaultPrevented || link.target || link.origin !== location.origin) return;
    if (routeOf(link.pathname).screen === "unknown") return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
}

/** Returns a query parameter of the page's URL. @param {string} name */
export const parameter = (name) => new URLSearchParams(location.search).get(name) ?? "";

/**
 * Changes query parameters of the page's URL without a new history entry.
 * @param {Record<string, string>} values
 */
export function setParameters(values) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(values)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  history.replaceState(null, "", location.pathname + (text ? `?${text}` : ""));
}
