// The grid of keys and environments, with its column headers. Tab focuses the grid; arrow keys move the active cell.

import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import { hasLetterKeys } from "../parts/browser.js";
import { Icon, html } from "../parts/html.js";
import { words } from "../words.js";
import { actionOf, hasValue, moved } from "./cells.js";
import { isProduction } from "./editing.js";
import { Rows, rowHeight } from "./rows.js";

/** @param {{ grid: import("./state.js").GridState, place: number }} properties */
function EnvironmentHead({ grid, place }) {
  const { keys, environments } = grid.comparison.value;
  const environment = environments[place];
  const parent = environments.find(({ id }) => id === environment.inherits_from);
  const values = keys.filter((row) => hasValue(row.cells[place])).length;
  const isClosed = environment.role === "none";
  const missing = environment.missing ?? 0;
  return html`<div
    role="columnheader"
    class=${isProduction(environment.name) ? "head production" : "head"}
    aria-colindex=${place + 2}
  >
    <span class="title"><span class="name" title=${environment.name}>${environment.name}</span>
      ${isClosed && html`<${Icon} name="noAccess" />`}
      ${!isClosed &&
      values > 0 &&
      html`<button
        class="bare"
        tabindex="-1"
        aria-label=${`${words.column.reveal}: ${environment.name}`}
        title=${`${words.column.reveal} (Shift-R)`}
        onClick=${() => (grid.asked.value = place)}
      ><${Icon} name="eye" /></button>`}
    </span>
    <span class="note">
      ${parent && html`<span class="parent" title=${words.cell.inherited(parent.name)}><${Icon} name="inherited" />${parent.name}</span>`}
      ${!parent && html`<span>${isClosed ? words.cell.noAccess : words.grid.values(values)}</span>`}
      ${missing > 0 && html`<span class="lack">${words.grid.missing(missing)}</span>`}
    </span>
  </div>`;
}

/** Column headers. @param {{ grid: import("./state.js").GridState }} properties */
export function Head({ grid }) {
  const [all, shown] = [grid.merged.value.keys.length, grid.rows.value.length];
  const environments = grid.environments.value;
  return html`<div role="rowgroup" class="heads">
    <div role="row" class="row" aria-rowindex="1">
      <div role="columnheader" class="head key" aria-colindex="1">
        <span class="title">${words.grid.key}</span>
        <span class="note">${shown === all ? words.grid.keys(all) : words.grid.some(shown, all)}</span>
      </div>
      ${grid.columns.value.map((place) => html`<${EnvironmentHead} key=${environments[place].id} grid=${grid} place=${place} />`)}
    </div>
  </div>`;
}

/** Tabs that select the environment shown in a narrow window. @param {{ grid: import("./state.js").GridState }} properties */
export function EnvironmentTabs({ grid }) {
  const environments = grid.environments.value;
  const chosen = grid.narrow.value;
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    const next = (chosen + step + environments.length) % environments.length;
    grid.narrow.value = next;
    const tabs = /** @type {HTMLElement} */ (event.currentTarget).children;
    /** @type {HTMLElement} */ (tabs[next]).focus();
  };
  return html`<div class="tabs" role="tablist" aria-label=${words.grid.environment} onKeyDown=${onKeyDown}>
    ${environments.map(
      ({ id, name, role, missing = 0 }, place) => html`<button
        key=${id}
        role="tab"
        aria-selected=${place === chosen}
        aria-controls="grid"
        tabindex=${place === chosen ? 0 : -1}
        onClick=${() => (grid.narrow.value = place)}
      >
        ${name}${role === "none" && html`<${Icon} name="noAccess" />`}
        ${missing > 0 && html` <span class="lack">${words.grid.missing(missing)}</span>`}
      </button>`,
    )}
  </div>`;
}

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
 * @param {{ grid: import("./state.js").GridState, act: (action: import("./cells.js").Action) => void }} properties
 */
export function Grid({ grid, act }) {
  const view = useSignal({ scrollTop: 0, height: 0 });
  const { element, measure } = useView(view);
  const activeId = grid.activeId.value;
  useLayoutEffect(() => {
    if (grid.isMoving) document.getElementById(activeId)?.scrollIntoView({ block: "nearest", inline: "nearest" });
    grid.isMoving = false;
  }, [activeId, grid.active.value]);

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
      grid.isMoving = true;
      grid.moveTo(to.row, to.column, event.shiftKey);
    } else if (action) act(action);
  };

  const onClick = (/** @type {MouseEvent} */ event) => {
    const target = /** @type {Element} */ (event.target);
    const cell = /** @type {HTMLElement | null} */ (target.closest("[data-column]"));
    const row = /** @type {HTMLElement | null} */ (target.closest("[data-row]"));
    if (!cell || !row) return;
    const wasActive = cell.classList.contains("active");
    grid.moveTo(Number(row.dataset.row), Number(cell.dataset.column), event.shiftKey);
    const action = /** @type {HTMLElement | null} */ (target.closest("[data-action]"))?.dataset.action;
    // The first click only selects the cell: it shows no value, which would be recorded in the audit log.
    if (action && wasActive && !event.shiftKey) act(/** @type {import("./cells.js").Action} */ (action));
  };

  // The browser would select text up to the cell instead, or focus a button whose element another row uses later.
  const onMouseDown = (/** @type {MouseEvent} */ event) => {
    if (!event.shiftKey && !(/** @type {Element} */ (event.target).closest(".rows button"))) return;
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
