// Rows and cells of the grid. Only the visible rows, rows near them, and the active row are rendered.

import { useComputed } from "@preact/signals";

import { isNarrow } from "../parts/browser.js";
import { Icon, html } from "../parts/html.js";
import { words } from "../words.js";
import { description, equals, isReadable, markOf, shortText, spoken, windowOf } from "./cells.js";
import { changeText } from "./editing.js";
import { changeId } from "./staged.js";
import { cellId, flashId } from "./state.js";
import { visibleParts } from "./values.js";

/** Maximum number of characters of a value in a cell. */
const MAX_SHOWN = 60;

/** Value shortened to one line; the full value is shown below the grid. @param {{ value: string }} properties */
function Short({ value }) {
  const [first] = value.split("\n", 1);
  const parts = visibleParts(first.slice(0, MAX_SHOWN));
  const lines = value.split("\n").length;
  return html`<span class="value">
    ${value === "" && html`<em>${words.cell.empty}</em>`}
    ${parts.map(({ text, isMark }) => (isMark ? html`<i>${text}</i>` : text))}
    ${lines > 1 && html`<em> ${words.cell.lines(lines)}</em>`}
  </span>`;
}

/**
 * Describes a staged change, and its conflict if any, for screen readers.
 * @param {any} grid @param {any} change @param {boolean} isConflict
 */
const stagedLabel = (grid, change, isConflict) =>
  [isConflict ? words.edit.conflict : words.edit.unsaved, changeText(grid, change)].join(": ");

/** @param {{ grid: any, change: any, isConflict: boolean }} properties */
function StagedMark({ grid, change, isConflict }) {
  return html`<span class="mark-staged"><${Icon} name=${isConflict ? "conflict" : "edited"} /></span>
    <span class="text">${changeText(grid, change)}</span>`;
}

/**
 * Buttons of the active cell, for use with a pointer. Keyboard shortcuts do the same.
 * @param {{ isShown: boolean }} properties
 */
function Actions({ isShown }) {
  const label = isShown ? words.cell.hide : words.cell.reveal;
  return html`<span class="tools" aria-hidden="true">
    <button tabindex="-1" data-action="reveal" title=${label}><${Icon} name=${isShown ? "eyeOff" : "eye"} /></button>
    <button tabindex="-1" data-action="copy" title=${words.cell.copy}><${Icon} name="copy" /></button>
  </span>`;
}

/**
 * Icons for the same key in the other environments, in a narrow window.
 * @param {{ grid: any, row: any, place: number }} properties
 */
function Others({ grid, row, place }) {
  const environments = grid.environments.value;
  return html`<span class="others" aria-hidden="true">
    ${environments.map((/** @type {any} */ environment, /** @type {number} */ other) => {
      const mark = markOf(row, other, environment);
      return other !== place && mark !== "absent" && html`<span class=${`mark-${mark}`}><${Icon} name=${mark} /></span>`;
    })}
  </span>`;
}

/**
 * Cell of a key in an environment.
 * @param {{ grid: import("./state.js").GridState, row: import("./cells.js").Row, index: number, place: number,
 * column: number, hasOthers: boolean }} properties `place` is the environment's index, `column` the visible column
 */
export function Cell({ grid, row, index, place, column, hasOthers }) {
  const id = cellId(index, column);
  const environments = grid.environments.value;
  const environment = environments[place];
  const isActive = useComputed(() => grid.isActive(row.key, column)).value;
  const isSelected = useComputed(() => grid.isSelected(row.key, column)).value;
  const hasFlash = useComputed(() => grid.flashes.value.has(flashId(environment.id, row.key))).value;
  const shown = grid.values.of(environment.id, row.key).value;
  const secret = row.cells[place];
  const mark = markOf(row, place, environment);
  const isOpen = isReadable(mark, secret);
  const id_ = changeId(environment.id, row.key);
  const change = useComputed(() => grid.staged.value.changes.get(id_)).value;
  const isConflict = useComputed(() => grid.conflicts.value.has(id_)).value;
  const label = [row.key, environment.name, spoken(row, place, environments), ...(change ? [stagedLabel(grid, change, isConflict)] : [])].join(", ");
  const isShown = shown.state === "shown";
  return html`<div
    role="gridcell"
    id=${id}
    class=${`cell mark-${mark}${isActive ? " active" : ""}${isSelected ? " selected" : ""}${hasFlash ? " flash" : ""}${isShown ? " open" : ""}${change ? " staged" : ""}${isConflict ? " conflicting" : ""}`}
    aria-colindex=${place + 2}
    aria-selected=${isSelected ? "true" : undefined}
    aria-label=${isShown ? undefined : label}
    data-column=${column}
  >
    ${mark !== "absent" && html`<${Icon} name=${mark} />`}
    ${change && html`<${StagedMark} grid=${grid} change=${change} isConflict=${isConflict} />`}
    ${isShown
      ? html`<span class="unseen">${label}: </span><${Short} value=${shown.value} />`
      : !change && html`<span class="text">${mark === "noAccess" ? "" : shortText(mark, secret)}</span>`}
    ${isOpen && !change && shown.state === "hidden" && html`<span class="dots" data-action="reveal"></span>`}
    ${shown.state === "loading" && html`<span class="wait">${words.cell.loading}</span>`}
    ${shown.state === "failed" && html`<span class="wait bad">${words.cell.failed}</span>`}
    ${equals(row, place, environments).length > 0 && html`<${Icon} name="equal" />`}
    ${hasOthers && html`<${Others} grid=${grid} row=${row} place=${place} />`}
    ${isActive && isOpen && html`<${Actions} isShown=${isShown} />`}
  </div>`;
}

/**
 * Cell with the key of a row.
 * @param {{ grid: import("./state.js").GridState, row: import("./cells.js").Row, index: number, about: string }} properties
 */
export function KeyCell({ grid, row, index, about }) {
  const id = cellId(index, 0);
  const isActive = useComputed(() => grid.isActive(row.key, 0)).value;
  return html`<div
    role="rowheader"
    id=${id}
    class=${isActive ? "cell key active" : "cell key"}
    aria-colindex="1"
    data-column="0"
    title=${about ? `${row.key}: ${about}` : row.key}
  >
    <span class="name">${row.key}</span>
    ${about && html`<span class="about">${about}</span>`}
  </div>`;
}

/** Height of a row, in pixels. */
export const rowHeight = () => (isNarrow.value ? 60 : 36);

/** @param {{ grid: any, row: any, index: number, columns: number[] }} properties */
function Row({ grid, row, index, columns }) {
  const style = { transform: `translateY(${index * rowHeight()}px)` };
  const environments = grid.environments.value;
  // A changed property does not compute a signal of a cell again, so another environment or column is another element.
  return html`<div role="row" class="row" aria-rowindex=${index + 2} data-row=${index} style=${style}>
    <${KeyCell} grid=${grid} row=${row} index=${index} about=${description(row)} />
    ${columns.map(
      (place, position) => html`<${Cell}
        key=${`${environments[place].id} ${position}`}
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
