// The bar at the top of every screen, and the navigation between sections of a project or a team: links, and
// `g` followed by a letter.

import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { person, signOut } from "../api.js";
import { PROJECT_SECTIONS, TEAM_SECTIONS, accountPath, base, mayLeave, navigate, pathOf, projectsPath, teamPath } from "../routes.js";
import { words } from "../words.js";
import { hasLetterKeys, nextTheme, paletteKey, theme } from "./browser.js";
import { Icon, html } from "./html.js";
import { errorText, notify } from "./messages.js";

/** True while the command palette is open. */
export const isPaletteOpen = signal(false);

/** Signs the user out, after a question if there are unsaved changes. A failure is shown as a notice. */
export async function leave() {
  if (!mayLeave()) return;
  try {
    await signOut();
  } catch (error) {
    notify({ text: errorText(error), isBad: true });
  }
}

/** Closes the menu when the focus or the pointer leaves it. @param {any} event */
function closeOutside(event) {
  const menu = event.currentTarget;
  if (!menu.contains(event.relatedTarget)) menu.open = false;
}

/** @param {any} event */
function closeOnEscape(event) {
  if (event.key !== "Escape" || !event.currentTarget.open) return;
  event.currentTarget.open = false;
  event.currentTarget.querySelector("summary").focus();
}

function Account() {
  const { email, name, teams = [] } = person.value;
  return html`<details class="menu" onFocusOut=${closeOutside} onKeyDown=${closeOnEscape}>
    <summary aria-label=${`${words.account.menu}: ${email ?? name}`}>
      <span class="who">${email ?? name}</span><${Icon} name="down" />
    </summary>
    <div class="sheet">
      <p class="quiet">${name}<br />${email}</p>
      <a href=${accountPath}>${words.account.settings}</a>
      ${teams.map(
        (/** @type {any} */ { team_id, team }) => html`<a key=${team_id} href=${teamPath(team_id, "members")}>${team?.name ?? words.sections.ofTeam}</a>`,
      )}
      <a href=${`${base}/api/docs`}>${words.account.api}</a>
      <button onClick=${leave}>${words.account.signOut}</button>
    </div>
  </details>`;
}

/** `place` is the name of the project or team. @param {{ place?: string }} properties */
export function Bar({ place }) {
  return html`<header class="bar">
    <nav aria-label=${words.product}>
      <a class="brand" href=${projectsPath} aria-label=${words.home}><span class="logo"><${Icon} name="lock" /></span><span class="name">${words.product}</span></a>
      ${place && html`<${Icon} name="right" /><span class="place">${place}</span>`}
    </nav>
    ${person.value &&
    html`<button class="bare" aria-label=${words.palette} aria-keyshortcuts=${paletteKey.aria} title=${`${words.palette} (${paletteKey.shown})`} onClick=${() => (isPaletteOpen.value = true)}>
      <${Icon} name="search" />
    </button>`}
    <button class="bare" aria-label=${words.theme[theme.value]} title=${words.theme[theme.value]} onClick=${nextTheme}>
      <${Icon} name=${theme.value} />
    </button>
    ${person.value && html`<${Account} />`}
  </header>`;
}

/** Maximum time between `g` and the letter of a section, in ms. */
const SEQUENCE = 1_500;

/** @typedef {{ name: string, path: string }} Link */

/** True after the use of a navigation link, until its section is shown and the link is focused. */
let isFollowed = false;

const follow = () => void (isFollowed = true);

/** Opens a section, and focuses its navigation link. @param {string} path */
export function go(path) {
  isFollowed = navigate(path);
}

/**
 * True if an element uses typed letters itself, such as a text field.
 * @param {EventTarget | null} target
 */
const isText = (target) => target instanceof Element && target.closest("input, textarea, select, dialog") !== null;

/** Lets the user open a section with `g` and the section's letter. @param {Link[]} links */
function useLetters(links) {
  useEffect(() => {
    let begun = -Infinity;
    const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
      if (!hasLetterKeys.value || event.ctrlKey || event.metaKey || event.altKey || isText(event.target)) return;
      const isSecond = event.timeStamp - begun < SEQUENCE;
      begun = event.key === "g" && !isSecond ? event.timeStamp : -Infinity;
      const link = isSecond && links.find(({ name }) => words.sections.letters[name] === event.key);
      if (!link) return;
      event.preventDefault();
      event.stopPropagation();
      go(link.path);
    };
    // Handle the key before the grid, which has shortcuts of its own.
    addEventListener("keydown", onKeyDown, true);
    return () => removeEventListener("keydown", onKeyDown, true);
  }, [links.map(({ path }) => path).join(" ")]);
}

/** @param {{ label: string, links: Link[], current: string }} properties */
function Navigation({ label, links, current }) {
  useLetters(links);
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    const link = /** @type {HTMLElement | null | undefined} */ (list.current?.querySelector("[aria-current]"));
    // In a narrow window, the current section may be outside the visible part.
    link?.scrollIntoView({ block: "nearest", inline: "center" });
    // The link that had the focus was removed with the previous screen.
    if (isFollowed) link?.focus();
    isFollowed = false;
  }, []);
  return html`<nav class="sections" aria-label=${label}>
    <ul ref=${list}>
      ${links.map(
        ({ name, path }) => html`<li key=${name}>
          <a href=${path} onClick=${follow} aria-current=${name === current ? "page" : undefined}>${words.sections.names[name]}</a>
        </li>`,
      )}
    </ul>
  </nav>`;
}

/** @param {{ project: { slug: string, name: string }, current: string }} properties */
export function ProjectNavigation({ project, current }) {
  const path = pathOf(project);
  const sections = PROJECT_SECTIONS.map((name) => ({ name, path: `${path}/${name}` }));
  const links = [{ name: "secrets", path }, ...sections];
  return html`<${Navigation} label=${words.sections.ofProject} links=${links} current=${current} />`;
}

/** @param {{ team: string, current: string }} properties */
export function TeamNavigation({ team, current }) {
  const links = TEAM_SECTIONS.map((name) => ({ name, path: teamPath(team, name) }));
  return html`<${Navigation} label=${words.sections.ofTeam} links=${links} current=${current} />`;
}
