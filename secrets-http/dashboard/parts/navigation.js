// Navigation between the sections of a project or a team: links, and `g` followed by a letter.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { PROJECT_SECTIONS, TEAM_SECTIONS, navigate, pathOf, teamPath } from "../routes.js";
import { words } from "../words.js";
import { html } from "./html.js";
import { hasLetterKeys } from "./theme.js";

/** Maximum time between `g` and the letter of a section, in ms. */
const SEQUENCE = 1_500;

/** @typedef {{ name: string, path: string }} Link */

/** True after the use of a navigation link, until its section is shown and the link is focused. */
let isFollowed = false;

const follow = () => void (isFollowed = true);

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
      follow();
      navigate(link.path);
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
