// Values shown in cells, and copied. A value is kept here only while its cell shows it.

import { signal } from "@preact/signals";

import { ApiError } from "../api.js";
import { errorText, notify } from "../parts/messages.js";
import { words } from "../words.js";
import { secretId } from "./staged.js";

/** Time after which a value is hidden again, in ms. */
export const SHOWN_FOR = 30_000;

/** Time after which values are hidden if the page is not visible, in ms. */
const UNSEEN_FOR = 10_000;

/**
 * @typedef {{ state: "hidden" } | { state: "loading" } | { state: "shown", value: string } |
 *   { state: "failed", error: any }} Shown
 */

/** @type {Shown} */
const HIDDEN = { state: "hidden" };

/** Revealed values of a project's secrets, by environment ID and key. */
export class Values {
  /** @type {Map<string, import("@preact/signals").Signal<Shown>>} */
  #cells = new Map();
  /** @type {Map<string, ReturnType<typeof setTimeout>>} */
  #timers = new Map();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #unseen;
  #read;

  /** @param {(environment: string, key: string) => Promise<string>} read */
  constructor(read) {
    this.#read = read;
    document.addEventListener("visibilitychange", this.#onVisibility);
  }

  /**
   * Returns the state of a value: hidden, loading, shown or failed.
   * @param {string} environment @param {string} key
   */
  of(environment, key) {
    const id = secretId(environment, key);
    let cell = this.#cells.get(id);
    if (!cell) this.#cells.set(id, (cell = signal(HIDDEN)));
    return cell;
  }

  /** Loads and shows a value. @param {string} environment @param {string} key */
  async reveal(environment, key) {
    const cell = this.of(environment, key);
    /** @type {Shown} */
    const loading = { state: "loading" };
    cell.value = loading;
    try {
      const value = await this.#read(environment, key);
      // The value may have been hidden meanwhile.
      if (cell.value === loading) this.show(environment, key, value);
    } catch (error) {
      if (cell.value === loading) cell.value = { state: "failed", error };
    }
  }

  /**
   * Shows a value for the time `SHOWN_FOR`.
   * @param {string} environment @param {string} key @param {string} value
   */
  show(environment, key, value) {
    this.of(environment, key).value = { state: "shown", value };
    const id = secretId(environment, key);
    clearTimeout(this.#timers.get(id));
    this.#timers.set(id, setTimeout(() => this.hide(environment, key), SHOWN_FOR));
  }

  /** @param {string} environment @param {string} key */
  hide(environment, key) {
    const id = secretId(environment, key);
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
    const cell = this.#cells.get(id);
    if (cell) cell.value = HIDDEN;
  }

  hideAll() {
    this.#timers.forEach((timer) => clearTimeout(timer));
    this.#timers.clear();
    for (const cell of this.#cells.values()) cell.value = HIDDEN;
  }

  /** Hides all values and stops all timers, when the project is closed. */
  close() {
    this.hideAll();
    clearTimeout(this.#unseen);
    document.removeEventListener("visibilitychange", this.#onVisibility);
  }

  #onVisibility = () => {
    clearTimeout(this.#unseen);
    if (document.visibilityState === "hidden") this.#unseen = setTimeout(() => this.hideAll(), UNSEEN_FOR);
  };
}

/** Characters that are invisible or change the direction of text. */
const MARKED = /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]/gu;

/**
 * Splits a value into text and names of invisible characters, such as `U+202E`.
 * @param {string} value
 * @returns {{ text: string, isMark: boolean }[]}
 */
export function visibleParts(value) {
  const parts = [];
  let end = 0;
  for (const match of value.matchAll(MARKED)) {
    if (match.index > end) parts.push({ text: value.slice(end, match.index), isMark: false });
    const code = /** @type {number} */ (match[0].codePointAt(0)).toString(16).toUpperCase().padStart(4, "0");
    parts.push({ text: `U+${code}`, isMark: true });
    end = match.index + match[0].length;
  }
  if (end < value.length || !parts.length) parts.push({ text: value.slice(end), isMark: false });
  return parts;
}

/**
 * Copies a value to the clipboard. Writing begins while the value is loading, because browsers
 * allow it only shortly after a key press or click.
 * @param {Promise<string>} value
 */
async function writeClipboard(value) {
  const blob = value.then((text) => new Blob([text], { type: "text/plain" }));
  const written = navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
  // Awaited below, after the value, because the error of reading the value is more helpful.
  written.catch(() => {});
  await value;
  await written;
}

async function clearClipboard() {
  try {
    await navigator.clipboard.writeText("");
    notify({ text: words.cleared });
  } catch {
    notify({ text: words.clearRefused, isBad: true });
  }
}

/**
 * Reads a value and copies it to the clipboard. The audit log records it. If the browser refuses to
 * copy, the value is shown and selected.
 * @param {import("./state.js").GridState} grid
 * @param {(environment: string, key: string) => Promise<string>} read
 * @param {{ id: string, name: string }} environment @param {string} key
 */
export async function copy(grid, read, environment, key) {
  const value = read(environment.id, key);
  try {
    if (!navigator.clipboard) throw new Error("no clipboard");
    await writeClipboard(value);
    const action = { label: words.clearClipboard, run: clearClipboard };
    notify({ text: words.copiedOf(key, environment.name), action });
  } catch (error) {
    if (error instanceof ApiError) return notify({ text: errorText(error), isBad: true });
    const text = await value.catch((failed) => notify({ text: errorText(failed), isBad: true }));
    if (typeof text !== "string") return;
    grid.isSelecting.value = true;
    grid.values.show(environment.id, key, text);
    notify({ text: words.copyRefused, isBad: true });
  }
}
