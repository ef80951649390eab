// Preferences of this browser (theme, single-letter shortcuts), and the width of its window.

import { signal } from "@preact/signals";

/** @typedef {"system" | "light" | "dark"} Theme */

export const THEMES = /** @type {const} */ (["system", "light", "dark"]);

/** @param {string} name */
function stored(name) {
  try {
    return localStorage.getItem(name) ?? "";
  } catch {
    return "";
  }
}

/** @param {string} name @param {string} value */
function store(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Without storage, the preference ends with the page.
  }
}

export const theme = signal(THEMES.find((known) => known === stored("secrets-theme")) ?? "system");

/** False if single-letter shortcuts are turned off (WCAG 2.1.4). */
export const hasLetterKeys = signal(stored("secrets-letter-keys") !== "off");

export function applyTheme() {
  document.documentElement.dataset.theme = theme.value;
}

/** Applies a theme, and stores the choice in this browser. @param {Theme} next */
export function setTheme(next) {
  theme.value = next;
  store("secrets-theme", next);
  applyTheme();
}

export const nextTheme = () => setTheme(THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]);

/**
 * Turns single-letter keyboard shortcuts on or off, and stores the choice in this browser.
 * @param {boolean} on
 */
export function setLetterKeys(on) {
  hasLetterKeys.value = on;
  store("secrets-letter-keys", on ? "on" : "off");
}

/** True on systems of Apple, whose shortcuts use the command key. */
const isApple = /Mac|iPhone|iPad/.test(navigator.platform);

/** Shortcut of the command palette: as shown, and as in `aria-keyshortcuts`. */
export const paletteKey = isApple ? { shown: "⌘K", aria: "Meta+K" } : { shown: "Ctrl-K", aria: "Control+K" };

/** True for the shortcut of the command palette. @param {KeyboardEvent} event */
export const isPaletteKey = (event) =>
  event.key.toLowerCase() === "k" && event.metaKey === isApple && event.ctrlKey === !isApple && !event.shiftKey && !event.altKey;

const query = matchMedia("(max-width: 639px)");

/** True if the window is too narrow for several environments side by side. */
export const isNarrow = signal(query.matches);

query.addEventListener("change", () => {
  isNarrow.value = query.matches;
});
