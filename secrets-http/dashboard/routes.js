// URLs of the dashboard: the screen for each path, and navigation without loading the page again.

import { effect, signal } from "@preact/signals";

/** Path prefix of the service, without a slash at its end. */
export const base = new URL(import.meta.url).pathname.replace(/\/assets\/[^/]+\/[^/]+$/, "");

/**
 * @typedef {{ screen: "projects" | "account" | "unknown" }
 *   | { screen: "project", project: string }
 *   | { screen: "section", project: string, section: string }
 *   | { screen: "team", team: string, section: string }} Route
 */

/** Names of the dashboard pages of a project, as in the path `projects/{project}/{name}`. */
export const PROJECT_SECTIONS = ["environments", "rotations", "scans", "tokens", "access", "audit", "settings"];

/** Names of the dashboard pages of a team, as in the path `teams/{team}/{name}`. */
export const TEAM_SECTIONS = ["members", "tokens", "scans", "audit", "usage"];

/** Returns the screen that belongs to a path. @param {string} path @returns {Route} */
export function routeOf(path) {
  if (!path.startsWith(`${base}/`)) return { screen: "unknown" };
  const parts = path.slice(base.length + 1).split("/");
  if (parts.length === 1 && ["", "projects"].includes(parts[0])) return { screen: "projects" };
  if (parts.length === 2 && parts[0] === "projects") return { screen: "project", project: decoded(parts[1]) };
  if (parts.length === 1 && parts[0] === "account") return { screen: "account" };
  const [place, name, section] = parts;
  if (parts.length === 3 && place === "projects" && PROJECT_SECTIONS.includes(section)) {
    return { screen: "section", project: decoded(name), section };
  }
  if (parts.length === 3 && place === "teams" && TEAM_SECTIONS.includes(section)) {
    return { screen: "team", team: decoded(name), section };
  }
  return { screen: "unknown" };
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

/** @param {{ slug: string }} project */
export const pathOf = (project) => `${base}/projects/${encodeURIComponent(project.slug)}`;

/** @param {string} team ID @param {string} section */
export const teamPath = (team, section) => `${base}/teams/${encodeURIComponent(team)}/${section}`;

export const accountPath = `${base}/account`;

export const projectsPath = `${base}/projects`;

/** Called before leaving a screen. @type {(() => boolean)[]} */
const guards = [];

/**
 * Registers a function that can return false to stay on the screen. Returns a function to remove it.
 * @param {() => boolean} guard
 */
export function beforeLeaving(guard) {
  guards.push(guard);
  return () => void guards.splice(guards.indexOf(guard), 1);
}

/** @param {string} path */
export function navigate(path) {
  if (!guards.every((guard) => guard())) return;
  history.pushState(null, "", path);
  route.value = routeOf(location.pathname);
  scrollTo(0, 0);
}

/** Handles links within the dashboard, and the back and forward buttons. */
export function start() {
  let current = location.href;
  effect(() => {
    route.value;
    current = location.href;
  });
  addEventListener("popstate", () => {
    // The address has changed already: a refused change is taken back.
    if (!guards.every((guard) => guard())) return history.pushState(null, "", current);
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
