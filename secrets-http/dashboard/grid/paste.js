// Pasting or dropping a `.env` file: its changes are shown first, then staged.

import { useEffect } from "preact/hooks";

import { Dialog } from "../parts/dialog.js";
import { html } from "../parts/html.js";
import { notify } from "../parts/notice.js";
import { words } from "../words.js";
import { isDotenv, parsed } from "./dotenv.js";
import { isWritable, stageAll } from "./editing.js";
import { markOf } from "./marks.js";
import { ownVersion } from "./staged.js";

/** Maximum size of a file that is read, in bytes. The service accepts 16 MiB in one request. */
const MAX_BYTES = 4 * 1024 * 1024;

/** @typedef {import("./state.js").GridState} GridState */

/**
 * Returns the changes that a text would make to an environment.
 * @param {GridState} grid @param {number} place @param {string} text
 */
export function planOfText(grid, place, text) {
  const { environments, keys } = grid.comparison.value;
  const environment = environments[place];
  const rows = new Map(keys.map((row) => [row.key, row]));
  const { values, errors } = parsed(text);
  const changes = /** @type {import("./staged.js").Change[]} */ ([]);
  const managed = /** @type {string[]} */ ([]);
  for (const [key, value] of values) {
    const row = rows.get(key);
    if (row && markOf(row, place, environment) === "managed") managed.push(key);
    else changes.push({ environment: environment.id, key, action: "set", value, base: ownVersion(row?.cells[place]) });
  }
  const created = changes.filter(({ base }) => base === 0).length;
  return { environment, changes, created, changed: changes.length - created, managed, errors };
}

/** Opens the window for a text, if the person may write in the environment. @param {GridState} grid @param {number | undefined} place @param {string} text */
function offer(grid, place, text) {
  const environment = place === undefined ? undefined : grid.environments.value[place];
  if (!environment || !isWritable(environment)) return notify({ text: words.paste.nowhere, isBad: true });
  grid.pasted.value = planOfText(grid, /** @type {number} */ (place), text);
}

/** Returns the place of the visible environment below the pointer. @param {GridState} grid @param {DragEvent} event */
function placeBelow(grid, event) {
  const element = event.target instanceof Element ? event.target : null;
  const cell = element?.closest("[aria-colindex]")?.getAttribute("aria-colindex");
  return cell && Number(cell) >= 2 ? Number(cell) - 2 : grid.target().place;
}

/** Listens for pasted text and dropped files. @param {GridState} grid */
export function usePaste(grid) {
  useEffect(() => {
    const isBusy = () => document.querySelector("dialog[open]") !== null;
    const onPaste = (/** @type {ClipboardEvent} */ event) => {
      const text = event.clipboardData?.getData("text/plain") ?? "";
      if (isBusy() || document.activeElement?.matches("input, textarea, select") || !isDotenv(text)) return;
      event.preventDefault();
      offer(grid, grid.target().place ?? grid.columns.value[0], text);
    };
    const onDragOver = (/** @type {DragEvent} */ event) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    };
    const onDrop = async (/** @type {DragEvent} */ event) => {
      const file = event.dataTransfer?.files[0];
      if (!file) return;
      // Otherwise the browser would open the file instead of this page.
      event.preventDefault();
      if (isBusy()) return;
      const place = placeBelow(grid, event);
      if (file.size > MAX_BYTES) return notify({ text: words.paste.large, isBad: true });
      offer(grid, place, await file.text());
    };
    document.addEventListener("paste", onPaste);
    document.addEventListener("dragover", onDragOver);
    document.addEventListener("drop", onDrop);
    return () => {
      document.removeEventListener("paste", onPaste);
      document.removeEventListener("dragover", onDragOver);
      document.removeEventListener("drop", onDrop);
    };
  }, []);
}

/** Window with the changes that a text would make, without values. @param {{ grid: GridState, plan: ReturnType<typeof planOfText> }} properties */
export function Pasted({ grid, plan }) {
  const { environment, changes, created, changed, managed, errors } = plan;
  const close = () => (grid.pasted.value = null);
  const keep = () => {
    close();
    stageAll(grid, changes);
  };
  const buttons = html`<button onClick=${close}>${words.cancel}</button>
    ${changes.length > 0 && html`<button class="main" autofocus onClick=${keep}>${words.paste.keep(changes.length)}</button>`}`;
  return html`<${Dialog} title=${words.paste.title(environment.name)} onClose=${close} actions=${buttons}>
    <p>${words.paste.plan(created, changed)}</p>
    ${managed.length > 0 && html`<p>${words.paste.managed(managed.join(", "))}</p>`}
    ${errors.length > 0 && html`<p class="bad">${words.paste.errors(errors.length, errors.slice(0, 20).join(", "), errors.length > 20)}</p>
      <p>${words.paste.errorsHint}</p><pre><code>secrets import .env</code></pre>`}
    <p class="quiet">${words.edit.hint}</p>
  <//>`;
}
