// Dialog for pasted text or a dropped file: the changes that it would make, without values.

import { markOf } from "../grid/cells.js";
import { isWritable, stageAll } from "../grid/editing.js";
import { ownVersion } from "../grid/staged.js";
import { html } from "../parts/html.js";
import { Dialog, notify } from "../parts/messages.js";
import { parsed } from "./dotenv.js";
import { words } from "./words.js";

/** @typedef {import("../grid/state.js").GridState} GridState */

/**
 * Returns the changes that `KEY=value` lines would make to the environment at index `place`, the
 * keys that a rotation writes, and the lines with errors.
 * @param {GridState} grid @param {number} place @param {string} text
 */
export function planOfText(grid, place, text) {
  const { environments, keys } = grid.comparison.value;
  const environment = environments[place];
  const rows = new Map(keys.map((row) => [row.key, row]));
  const { values, errors } = parsed(text);
  const changes = /** @type {import("../grid/staged.js").Change[]} */ ([]);
  const managed = /** @type {string[]} */ ([]);
  for (const [key, value] of values) {
    const row = rows.get(key);
    if (row && markOf(row, place, environment) === "managed") managed.push(key);
    else changes.push({ environment: environment.id, key, action: "set", value, base: ownVersion(row?.cells[place]) });
  }
  const created = changes.filter(({ base }) => base === 0).length;
  return { environment, changes, created, changed: changes.length - created, managed, errors };
}

/**
 * Opens the window with the changes that `.env` text would make to an environment, or shows a
 * notice if the user may not write there.
 * @param {GridState} grid @param {number | undefined} place @param {string} text
 */
export function offer(grid, place, text) {
  const environment = place === undefined ? undefined : grid.environments.value[place];
  if (!environment || !isWritable(environment)) return notify({ text: words.paste.nowhere, isBad: true });
  grid.pasted.value = planOfText(grid, /** @type {number} */ (place), text);
}

/**
 * Window with the changes that pasted text would make.
 * @param {{ grid: GridState, plan: ReturnType<typeof planOfText> }} properties
 */
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
