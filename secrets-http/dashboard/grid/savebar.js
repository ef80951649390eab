// Bar below the grid, shown while there are staged changes.

import { html } from "../parts/html.js";
import { words } from "../words.js";
import { discard, lastText } from "./editing.js";

/** @param {{ grid: import("./state.js").GridState }} properties */
export function SaveBar({ grid }) {
  const { changes } = grid.staged.value;
  const conflicts = grid.conflicts.value.size;
  const environments = new Set([...changes.values()].map(({ environment }) => environment)).size;
  return html`<div class="savebar" role="region" aria-label=${words.edit.bar} hidden=${!changes.size}>
    <p role="status">
      <span class="unseen">${lastText(grid)}</span>
      ${changes.size > 0 && html`<strong>${words.edit.count(changes.size, environments)}</strong>`}
      ${changes.size > 0 && conflicts > 0 && html` <span class="bad">${words.edit.conflicts(conflicts)}</span>`}
    </p>
    <button onClick=${() => discard(grid)}>${words.edit.discard}</button>
    <button class="main" onClick=${() => (grid.isReviewing.value = true)}>${words.edit.review}<kbd>Ctrl-S</kbd></button>
  </div>`;
}
