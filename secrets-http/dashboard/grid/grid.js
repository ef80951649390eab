// The grid of keys and environments. Tab focuses the grid; arrow keys move the active cell.

import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import { html } from "../parts/html.js";
import { hasLetterKeys } from "../parts/theme.js";
import { words } from "../words.js";
import { Head } from "./head.js";
import { actionOf, moved } from "./keys.js";
import { Rows, rowHeight } from "./rows.js";

/** Height of the row of column headers, in pixels. */
const HEAD = 56;

/**
 * Measures the visible part of the grid.
 * @param {import("@preact/signals").Signal<{ scrollTop: number, height: number }>} view
 */
function useView(view) {
  const element = useRef(/** @type {HTMLElement | null} */ (null));
  const measure = () => {
    if (!element.current) return;
    const { scrollTop, clientHeight } = element.current;
    if (scrollTop !== view.value.scrollTop || clientHeight - HEAD !== view.value.height) {
      view.value = { scrollTop, height: clientHeight - HEAD };
    }
  };
  useLayoutEffect(() => {
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(/** @type {HTMLElement} */ (element.current));
    return () => observer.disconnect();
  }, []);
  return { element, measure };
}

/**
 * @param {{ grid: import("./state.js").GridState, act: (action: import("./keys.js").Action) => void }} properties
 */
export function Grid({ grid, act }) {
  const view = useSignal({ scrollTop: 0, height: 800 });
  const { element, measure } = useView(view);
  const activeId = grid.activeId.value;
  const isMoving = useRef(false);
  useLayoutEffect(() => {
    if (isMoving.current) document.getElementById(activeId)?.scrollIntoView({ block: "nearest", inline: "nearest" });
    isMoving.current = false;
  }, [activeId]);

  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    const size = {
      rows: grid.rows.value.length,
      columns: grid.columns.value.length + 1,
      page: Math.max(1, Math.floor(view.value.height / rowHeight()) - 1),
    };
    const to = moved(event, grid.place.value, size);
    const action = to ? null : actionOf(event, hasLetterKeys.value);
    if (!to && !action) return;
    event.preventDefault();
    if (to) {
      isMoving.current = true;
      grid.moveTo(to.row, to.column, event.shiftKey);
    } else if (action) act(action);
  };

  const onClick = (/** @type {MouseEvent} */ event) => {
    const target = /** @type {Element} */ (event.target);
    const cell = /** @type {HTMLElement | null} */ (target.closest("[data-column]"));
    const row = /** @type {HTMLElement | null} */ (target.closest("[data-row]"));
    if (!cell || !row) return;
    grid.moveTo(Number(row.dataset.row), Number(cell.dataset.column), event.shiftKey);
    const action = /** @type {HTMLElement | null} */ (target.closest("[data-action]"))?.dataset.action;
    if (action && !event.shiftKey) act(/** @type {import("./keys.js").Action} */ (action));
  };

  // The browser would select text up to the cell instead.
  const onMouseDown = (/** @type {MouseEvent} */ event) => {
    if (!event.shiftKey) return;
    event.preventDefault();
    element.current?.focus();
  };

  const columns = grid.columns.value.length;
  return html`<div
    ref=${element}
    id="grid"
    class="grid"
    role="grid"
    tabindex="0"
    aria-label=${words.grid.label(grid.project.name)}
    aria-rowcount=${grid.rows.value.length + 1}
    aria-colcount=${grid.environments.value.length + 1}
    aria-multiselectable="true"
    aria-activedescendant=${activeId}
    style=${{ "--columns": String(columns) }}
    onScroll=${measure}
    onKeyDown=${onKeyDown}
    onMouseDown=${onMouseDown}
    onClick=${onClick}
  >
    <${Head} grid=${grid} />
    <${Rows} grid=${grid} view=${view} />
  </div>`;
}
