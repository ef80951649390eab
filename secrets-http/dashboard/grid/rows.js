// Rows and cells of the grid. Only the visible rows, rows near them, and the active row have elements. While the grid scrolls,
// an element is reused for a row that comes into view, and is changed only where the rows differ. The rows are no components of
// Preact: those are slower for each frame, and keep the previous trees of reused elements in memory.

import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import { isNarrow } from "../parts/browser.js";
import { Icon, html } from "../parts/html.js";
import { words } from "../words.js";
import { description, equals, isReadable, markOf, shortText, spoken, windowOf } from "./cells.js";
import { changeText } from "./editing.js";
import { secretId } from "./staged.js";
import { cellId } from "./state.js";
import { visibleParts } from "./values.js";

/** @typedef {import("./state.js").GridState} GridState */
/** @typedef {import("@preact/signals").Signal<{ scrollTop: number, height: number }>} View visible part of the grid */

/** Maximum number of characters of a value in a cell. */
const MAX_SHOWN = 60;

/** Time without scrolling after which the elements are put in the order of the rows, in ms. */
const ORDER_DELAY = 200;

/** Height of a row, in pixels. */
export const rowHeight = () => (isNarrow.value ? 60 : 36);

/** Value shortened to one line; the full value is shown below the grid. @param {{ value: string }} properties */
function Short({ value }) {
  const lines = value.split("\n");
  return html`<span class="value">
    ${value === "" && html`<em>${words.cell.empty}</em>`}
    ${visibleParts(lines[0].slice(0, MAX_SHOWN)).map(({ text, isMark }) => (isMark ? html`<i>${text}</i>` : text))}
    ${lines.length > 1 && html`<em> ${words.cell.lines(lines.length)}</em>`}
  </span>`;
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
 * Content of a cell. `label` is its name, if the value is shown; `planned` describes a staged change; `others` are the marks of
 * the key in the other environments, in a narrow window.
 * @typedef {{ mark: import("./cells.js").Mark, label: string, text: string, shown: import("./values.js").Shown, isClosed: boolean,
 *   planned: string, isConflict: boolean, hasEqual: boolean, others: string, hasActions: boolean }} Content
 */

/** Children of a cell. @param {Content} content */
const children = ({ mark, label, text, shown, isClosed, planned, isConflict, hasEqual, others, hasActions }) => html`
  ${mark !== "absent" && html`<${Icon} name=${mark} />`}
  ${planned && html`<span class="mark-staged"><${Icon} name=${isConflict ? "conflict" : "edited"} /></span><span class="text">${planned}</span>`}
  ${shown.state === "shown"
    ? html`<span class="unseen">${label}: </span><${Short} value=${shown.value} />`
    : !planned && html`<span class="text" data-action=${isClosed ? "reveal" : undefined}>${text}</span>`}
  ${shown.state === "loading" && html`<span class="wait">${words.cell.loading}</span>`}
  ${shown.state === "failed" && html`<span class="wait bad">${words.cell.failed}</span>`}
  ${hasEqual && html`<${Icon} name="equal" />`}
  ${others && html`<span class="others" aria-hidden="true">${others.split(" ").map((other) => html`<span class=${`mark-${other}`}><${Icon} name=${other} /></span>`)}</span>`}
  ${hasActions && html`<${Actions} isShown=${shown.state === "shown"} />`}`;

/** Sets attributes that differ, and removes those without a value. @param {Element} element @param {Record<string, string | number | undefined>} attributes */
function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined) element.removeAttribute(name);
    else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
  }
}

/** Cell of a key in an environment. Its element is reused. */
class Cell {
  element = document.createElement("div");
  /** @type {Partial<Content>} */
  #content = {};

  /**
   * Shows a key in the environment `place`, in the visible column `column`.
   * @param {GridState} grid @param {import("./cells.js").Row} row @param {number} index @param {number} place @param {number} column
   */
  show(grid, row, index, place, column) {
    const environments = grid.environments.value;
    const { id, name } = environments[place];
    const at = secretId(id, row.key);
    const change = grid.staged.value.changes.get(at);
    const isConflict = grid.conflicts.value.has(at);
    const planned = change ? changeText(grid, change) : "";
    const staged = planned && `, ${isConflict ? words.edit.conflict : words.edit.unsaved}: ${planned}`;
    const label = `${row.key}, ${name}, ${spoken(row, place, environments)}${staged}`;
    const shown = grid.values.of(id, row.key).value;
    const mark = markOf(row, place, environments[place]);
    const isOpen = isReadable(mark, row.cells[place]);
    const [isActive, isSelected, isShown] = [grid.isActive(row.key, column), grid.isSelected(row.key, column), shown.state === "shown"];
    const states = { active: isActive, selected: isSelected, flash: grid.flashes.value.has(at), open: isShown, staged: planned, conflicting: isConflict };
    set(this.element, {
      role: "gridcell",
      id: cellId(index, column),
      class: `cell mark-${mark}${Object.entries(states).map(([state, has]) => (has ? ` ${state}` : "")).join("")}`,
      "aria-colindex": place + 2,
      "aria-selected": isSelected ? "true" : undefined,
      "aria-label": isShown ? undefined : label,
      "data-column": column,
    });
    const others = isNarrow.value ? environments.map((other, place) => markOf(row, place, other)).filter((mark, other) => other !== place && mark !== "absent") : [];
    this.#fill({
      mark,
      label: isShown ? label : "",
      text: mark === "noAccess" ? "" : shortText(mark, row.cells[place]),
      shown,
      isClosed: isOpen && shown.state === "hidden",
      planned,
      isConflict,
      hasEqual: equals(row, place, environments).length > 0,
      others: others.join(" "),
      hasActions: isActive && isOpen,
    });
  }

  /** Renders the children if they differ. @param {Content} content */
  #fill(content) {
    const old = this.#content;
    const names = /** @type {(keyof Content)[]} */ (Object.keys(content));
    if (names.every((name) => old[name] === content[name])) return;
    this.#content = content;
    render(children(content), this.element);
  }
}

/** Row of the grid. Its element is reused for the row with another number. */
class Row {
  #key = document.createElement("div");
  element = document.createElement("div");
  /** @type {Cell[]} */
  #cells = [];
  #shown = "";
  #stop;

  /** @param {GridState} grid @param {number} index number of the row that is shown */
  constructor(grid, index) {
    this.index = signal(index);
    this.element.append(this.#key);
    this.#stop = effect(() => {
      const row = grid.rows.value[this.index.value];
      if (row) this.#show(grid, row, this.index.value);
    });
  }

  end() {
    this.#stop();
    this.element.remove();
  }

  /** @param {GridState} grid @param {import("./cells.js").Row} row @param {number} index */
  #show(grid, row, index) {
    const about = description(row);
    const columns = grid.columns.value;
    const title = about ? `${row.key}: ${about}` : row.key;
    set(this.element, { role: "row", class: "row", "aria-rowindex": index + 2, "data-row": index });
    this.element.style.transform = `translateY(${index * rowHeight()}px)`;
    set(this.#key, {
      role: "rowheader",
      id: cellId(index, 0),
      class: grid.isActive(row.key, 0) ? "cell key active" : "cell key",
      "aria-colindex": 1,
      "data-column": 0,
      title,
    });
    if (title !== this.#shown) render(html`<span class="name">${row.key}</span>${about && html`<span class="about">${about}</span>`}`, this.#key);
    this.#shown = title;
    for (const { element } of this.#cells.splice(columns.length)) element.remove();
    columns.forEach((place, position) => {
      const cell = (this.#cells[position] ??= new Cell());
      if (!cell.element.parentNode) this.element.append(cell.element);
      cell.show(grid, row, index, place, position + 1);
    });
  }
}

/**
 * Keeps the rows of the visible part of the grid in an element. Returns a function that ends this.
 * @param {HTMLElement} group @param {GridState} grid @param {View} view
 */
function keepRows(group, grid, view) {
  /** @type {Row[]} */
  const rows = [];
  // The active row, while it is outside the visible rows.
  let activeRow = /** @type {Row | null} */ (null);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const sorted = () => [...rows].sort((one, other) => one.index.peek() - other.index.peek()).map(({ element }) => element);
  // After scrolling, the elements are in the order of the rows, but begin in the middle. The smaller part is moved.
  const order = () => {
    activeRow?.element.remove();
    const elements = sorted();
    const begin = [...group.children].indexOf(elements[0]);
    if (begin * 2 < elements.length) group.append(...elements.slice(elements.length - begin));
    else group.prepend(...elements.slice(0, elements.length - begin));
    if (activeRow && activeRow.index.peek() < rows[0].index.peek()) group.prepend(activeRow.element);
    else if (activeRow) group.append(activeRow.element);
  };
  const stop = effect(() => {
    const count = grid.rows.value.length;
    const { first, last } = windowOf({ ...view.value, rowHeight: rowHeight(), count });
    const active = grid.place.value.row;
    const size = last - first;
    const isResized = rows.length !== size;
    group.style.height = `${count * rowHeight()}px`;
    for (const row of rows.splice(size)) row.end();
    while (rows.length < size) rows.push(new Row(grid, first + rows.length));
    for (let index = first; index < last; index++) rows[index % size].index.value = index;
    if (isResized) group.append(...sorted());
    if (active >= count || (active >= first && active < last)) {
      activeRow?.end();
      activeRow = null;
    } else {
      activeRow ??= new Row(grid, active);
      activeRow.index.value = active;
      if (!activeRow.element.parentNode) group.append(activeRow.element);
    }
    clearTimeout(timer);
    timer = setTimeout(order, ORDER_DELAY);
  });
  return () => {
    stop();
    clearTimeout(timer);
    for (const row of [...rows, activeRow]) row?.end();
  };
}

/** @param {{ grid: GridState, view: View }} properties */
export function Rows({ grid, view }) {
  const group = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => keepRows(/** @type {HTMLElement} */ (group.current), grid, view), []);
  return html`<div role="rowgroup" class="rows" ref=${group}></div>`;
}
