// Rows of the grid: only the visible rows, rows near them, and the active row are rendered.

import { useComputed } from "@preact/signals";

import { html } from "../parts/html.js";
import { isNarrow } from "../parts/media.js";
import { Cell, KeyCell } from "./cell.js";
import { description } from "./marks.js";
import { windowOf } from "./window.js";

/** Height of a row, in pixels. */
export const rowHeight = () => (isNarrow.value ? 60 : 36);

/** @param {{ grid: any, row: any, index: number, columns: number[] }} properties */
function Row({ grid, row, index, columns }) {
  const style = { transform: `translateY(${index * rowHeight()}px)` };
  return html`<div role="row" class="row" aria-rowindex=${index + 2} data-row=${index} style=${style}>
    <${KeyCell} grid=${grid} row=${row} index=${index} about=${description(row)} />
    ${columns.map(
      (place, position) => html`<${Cell}
        key=${place}
        grid=${grid}
        row=${row}
        index=${index}
        place=${place}
        column=${position + 1}
        hasOthers=${isNarrow.value}
      />`,
    )}
  </div>`;
}

/**
 * @param {{ grid: import("./state.js").GridState, view: import("@preact/signals").Signal<{ scrollTop: number, height: number }> }} properties
 */
export function Rows({ grid, view }) {
  const rows = grid.rows.value;
  const near = () => windowOf({ ...view.value, rowHeight: rowHeight(), count: grid.rows.value.length });
  // Two numbers: most scrolling changes neither, and renders nothing.
  const first = useComputed(() => near().first).value;
  const last = useComputed(() => near().last).value;
  const active = useComputed(() => grid.place.value.row).value;
  const indexes = Array.from({ length: last - first }, (_, offset) => first + offset);
  if (active < first && rows.length) indexes.unshift(active);
  if (active >= last && active < rows.length) indexes.push(active);
  const style = { height: `${rows.length * rowHeight()}px` };
  return html`<div role="rowgroup" class="rows" style=${style}>
    ${indexes.map(
      (index) => html`<${Row} key=${rows[index].key} grid=${grid} row=${rows[index]} index=${index} columns=${grid.columns.value} />`,
    )}
  </div>`;
}
