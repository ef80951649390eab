// Column headers, and in a narrow window the tabs that select the environment.

import { useComputed } from "@preact/signals";

import { html } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { words } from "../words.js";
import { isProduction } from "./editing.js";
import { hasValue } from "./marks.js";

/**
 * Returns the text below an environment's name: its number of values, or that the user has no
 * access.
 * @param {any} environment @param {number} values
 */
const note = (environment, values) =>
  environment.role === "none" ? words.grid.noAccess : words.grid.values(values);

/** @param {{ grid: import("./state.js").GridState, place: number }} properties */
function EnvironmentHead({ grid, place }) {
  const { keys, environments } = grid.comparison.value;
  const environment = environments[place];
  const parent = environments.find(({ id }) => id === environment.inherits_from);
  const values = useComputed(() => keys.filter((row) => hasValue(row.cells[place])).length).value;
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
      ${!parent && html`<span>${note(environment, values)}</span>`}
      ${missing > 0 && html`<span class="lack">${words.grid.missing(missing)}</span>`}
    </span>
  </div>`;
}

/** Column headers. @param {{ grid: import("./state.js").GridState }} properties */
export function Head({ grid }) {
  const [all, shown] = [grid.merged.value.keys.length, grid.rows.value.length];
  return html`<div role="rowgroup" class="heads">
    <div role="row" class="row" aria-rowindex="1">
      <div role="columnheader" class="head key" aria-colindex="1">
        <span class="title">${words.grid.key}</span>
        <span class="note">${shown === all ? words.grid.keys(all) : words.grid.some(shown, all)}</span>
      </div>
      ${grid.columns.value.map((place) => html`<${EnvironmentHead} key=${place} grid=${grid} place=${place} />`)}
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
