// Question before all values of an environment are shown.

import { secretsOf, send } from "../api.js";
import { hasValue } from "../grid/cells.js";
import { html } from "../parts/html.js";
import { Dialog, errorText, notify } from "../parts/messages.js";
import { words } from "./words.js";

/**
 * Dialog that asks whether to reveal all values of an environment.
 * @param {{ grid: import("../grid/state.js").GridState, place: number }} properties
 */
export function ColumnQuestion({ grid, place }) {
  const { environments, keys } = grid.comparison.value;
  const environment = environments[place];
  const number = keys.filter((row) => hasValue(row.cells[place]) && !row.cells[place]?.restricted).length;
  const close = () => (grid.asked.value = null);
  const reveal = async () => {
    close();
    try {
      const { body } = await send("GET", `${secretsOf(grid.project.slug, environment.id)}/export`);
      body.secrets.forEach((/** @type {any} */ { key, value }) => grid.values.show(environment.id, key, value));
    } catch (error) {
      notify({ text: errorText(error), isBad: true });
    }
  };
  const buttons = html`<button onClick=${close}>${words.cancel}</button>
    <button class="main" onClick=${reveal}>${words.column.confirm}</button>`;
  return html`<${Dialog} title=${words.column.question(environment.name)} onClose=${close} actions=${buttons}>
    <p>${words.column.text(number)}</p>
  <//>`;
}
