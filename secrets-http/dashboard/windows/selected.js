// Actions on the selected cells. Copying them: to another environment, or to the clipboard as lines of a `.env` file.

import { useState } from "preact/hooks";

import { isReadable, markOf } from "../grid/cells.js";
import { Buttons } from "../grid/controls.js";
import { editables, isWritable, stageAll } from "../grid/editing.js";
import { ownVersion } from "../grid/staged.js";
import { html } from "../parts/html.js";
import { Dialog, errorText, notify } from "../parts/messages.js";
import { lineOf } from "./dotenv.js";
import { words } from "./words.js";

/** @typedef {import("../grid/state.js").GridState} GridState */

/** Maximum number of values copied to the clipboard at once. Each needs a request. */
const MAX_COPIED = 20;

/** Returns the selected cells whose values the caller may read. @param {GridState} grid */
const readable = (grid) =>
  grid.targets().filter(({ row, place, environment }) => isReadable(markOf(row, place, environment), row.cells[place]));

/** Number of selected cells, and buttons for actions on them. @param {{ grid: GridState, act: import("../grid/controls.js").Act }} properties */
export function Selection({ grid, act }) {
  const cells = grid.targets();
  const changeable = editables(grid);
  const environments = new Set(cells.map(({ environment }) => environment.id)).size;
  const isOpen = readable(grid).length > 0;
  const list = [
    isOpen && environments === 1 && ["copy", words.selected.copy, "C"],
    isOpen && environments === 1 && ["copyTo", words.selected.copyTo, "P"],
    changeable.length > 0 && ["generate", words.selected.generate, "Shift-G"],
    changeable.some(({ isHidable }) => isHidable) && ["hideHere", words.edit.hide, "X"],
    changeable.some(({ isRemovable }) => isRemovable) && ["delete", words.edit.delete, "Del"],
    changeable.some(({ change }) => change) && ["giveUp", words.edit.giveUp],
    ["hide", words.selected.end, "Esc"],
  ];
  return html`<section class="detail" aria-label=${words.selected.count(cells.length, environments)}>
    <div class="line"><p role="status"><strong>${words.selected.count(cells.length, environments)}</strong></p>
      <${Buttons} act=${act} list=${list} />
    </div>
  </section>`;
}

/**
 * Returns the changes that copy the cells to `target`, and the keys that are not copied because a
 * rotation writes them there.
 * @param {{ row: import("../grid/cells.js").Row, environment: import("../grid/cells.js").Environment }[]} cells @param {import("../grid/cells.js").Environment} target @param {number} place
 */
export function copiesOf(cells, target, place) {
  const isManaged = (/** @type {any} */ { row }) => markOf(row, place, target) === "managed";
  const changes = cells.filter((cell) => !isManaged(cell)).map(({ row, environment }) => ({
    environment: target.id,
    key: row.key,
    action: /** @type {const} */ ("copy"),
    from: environment.id,
    base: ownVersion(row.cells[place]),
  }));
  return { changes, managed: cells.filter(isManaged).map(({ row }) => row.key) };
}

/**
 * Window to choose the environment to which the selected values are copied.
 * @param {{ grid: GridState }} properties
 */
export function CopyTo({ grid }) {
  const { environments } = grid.comparison.value;
  const cells = readable(grid);
  const sources = [...new Set(cells.map(({ environment }) => environment))];
  const targets = environments.filter((environment) => isWritable(environment) && environment !== sources[0]);
  const [id, setId] = useState(targets[0]?.id);
  const target = targets.find((environment) => environment.id === id);
  const close = () => (grid.isCopying.value = false);
  const isOne = sources.length === 1 && target;
  const { changes, managed } = isOne ? copiesOf(cells, target, environments.indexOf(target)) : { changes: [], managed: [] };
  const stage = (/** @type {Event} */ event) => {
    event.preventDefault();
    stageAll(grid, changes);
    close();
  };
  const buttons = html`<button type="button" onClick=${close}>${words.cancel}</button>
    ${changes.length > 0 && html`<button class="main" form="copy-to">${words.paste.keep(changes.length)}</button>`}`;
  return html`<${Dialog} title=${words.selected.title} onClose=${close} actions=${buttons}>
    ${!cells.length && html`<p>${words.selected.nothing}</p>`}
    ${sources.length > 1 && html`<p>${words.selected.one}</p>`}
    ${sources.length === 1 && !target && html`<p>${words.paste.nowhere}</p>`}
    ${isOne &&
    html`<form id="copy-to" class="form" onSubmit=${stage}>
      <p>${words.selected.from(cells.length, sources[0].name)}</p>
      <label class="field">${words.selected.to}
        <select autofocus value=${id} onChange=${(/** @type {any} */ event) => setId(event.target.value)}>
          ${targets.map((environment) => html`<option key=${environment.id} value=${environment.id}>${environment.name}</option>`)}
        </select>
      </label>
      ${managed.length > 0 && html`<p>${words.paste.managed(managed.join(", "))}</p>`}
      <p class="quiet">${words.edit.copyHint}</p>
    </form>`}
  <//>`;
}

/**
 * Reads the values of the selected cells of one environment, and copies them to the clipboard as `KEY=value` lines.
 * The audit log records each read.
 * @param {GridState} grid @param {(environment: string, key: string) => Promise<string>} read
 */
export async function copySelected(grid, read) {
  const cells = readable(grid);
  const bad = (/** @type {string} */ text) => notify({ text, isBad: true });
  if (!cells.length) return bad(words.selected.nothing);
  if (new Set(cells.map(({ environment }) => environment.id)).size > 1) return bad(words.selected.one);
  if (cells.length > MAX_COPIED) return bad(words.selected.tooMany(MAX_COPIED));
  const refused = /** @type {string[]} */ ([]);
  const lines = Promise.all(
    cells.map(async ({ row: { key }, environment }) => {
      const line = lineOf(key, await read(environment.id, key));
      if (line === null) refused.push(key);
      return line;
    }),
  );
  try {
    const text = lines.then((all) => new Blob([all.filter((line) => line !== null).map((line) => `${line}\n`).join("")], { type: "text/plain" }));
    // Browsers allow writing only shortly after a key press or click, so the clipboard gets
    // promises of values that are still loading.
    await Promise.all([lines, navigator.clipboard.write([new ClipboardItem({ "text/plain": text })])]);
    const copied = words.selected.copied(cells.length - refused.length, cells[0].environment.name);
    notify({ text: [copied, refused.length && words.selected.refused(refused.join(", "))].filter(Boolean).join(" "), isBad: refused.length > 0 });
  } catch (error) {
    const isRequest = await lines.then(() => false, () => true);
    bad(isRequest ? errorText(error) : words.selected.clipboard);
  }
}
