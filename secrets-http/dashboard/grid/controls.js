// Above and below the grid: the toolbar, the active cell in words with its value and actions, and the bar for
// staged changes.

import { useLayoutEffect, useRef } from "preact/hooks";

import { Icon, html } from "../parts/html.js";
import { errorText } from "../parts/messages.js";
import { ago, count, exactly, words } from "../words.js";
import { SHOWS, description, isReadable, markOf, spoken } from "./cells.js";
import { changeText, comparable, consequence, discard, editable, isWritable, lastText } from "./editing.js";
import { secretId } from "./staged.js";
import { visibleParts } from "./values.js";

/** @typedef {import("./state.js").GridState} GridState */
/** @typedef {(action: any) => void} Act performs an action, whose name is one of `Action` in `cells.js` */

/**
 * Actions of the grid that are buttons of its toolbar and of the bar for staged changes, and commands of the palette.
 * @type {Record<string, import("../sections/parts.js").Action>}
 */
export const GRID_ACTIONS = {
  review: { section: "secrets", label: words.edit.review, kind: "main", keys: "Ctrl-S", may: ({ changes = 0 }) => changes > 0 },
  add: { section: "secrets", label: words.edit.add, icon: "plus", keys: "N", may: ({ writable = 0 }) => writable > 0 },
  compare: { section: "secrets", label: words.grid.compare, short: "", icon: "compare", kind: "bare", keys: "D", may: ({ readable = 0 }) => readable > 1 },
  legend: { section: "secrets", label: words.grid.legend, short: "", icon: "help", kind: "bare", keys: "?", may: ({ hasGrid }) => hasGrid },
};

/** Returns what the user may do in a grid. @param {GridState} grid */
export const rightsOf = (grid) => ({
  readable: comparable(grid).length,
  writable: grid.environments.value.filter(isWritable).length,
  changes: grid.staged.value.changes.size,
  hasGrid: true,
});

/** Button of an action of the grid, if the user may do it. @param {{ grid: GridState, act: Act, name: string, kind?: string }} properties */
export function GridButton({ grid, act, name, kind = GRID_ACTIONS[name].kind }) {
  const { label, short = label, icon, keys, may } = GRID_ACTIONS[name];
  return may?.(rightsOf(grid)) && html`<button class=${kind} aria-label=${label} title=${`${label} (${keys})`} onClick=${() => act(name)}>
    ${icon && html`<${Icon} name=${icon} />`}${short}
  </button>`;
}

/** Toolbar of the grid. @param {{ grid: GridState, act: Act, onEqual: () => void }} properties */
export function Toolbar({ grid, act, onEqual }) {
  const shows = grid.shows.value;
  const counts = grid.counts.value;
  const onKeyDown = (/** @type {any} */ event) => {
    if (event.key === "Escape" && event.target.value) {
      event.preventDefault();
      grid.setText("");
    } else if (event.key === "Enter" || event.key === "ArrowDown" || event.key === "Escape") {
      event.preventDefault();
      document.getElementById("grid")?.focus();
    }
  };
  return html`<div class="toolbar" role="group" aria-label=${words.grid.filter}>
    <label class="search"><${Icon} name="search" />
      <input
        id="filter"
        type="search"
        aria-label=${words.grid.filter}
        placeholder=${words.grid.filter}
        autocomplete="off"
        spellcheck="false"
        value=${grid.text.value}
        onInput=${(/** @type {any} */ event) => grid.setText(event.target.value)}
        onKeyDown=${onKeyDown}
      /><kbd>/</kbd>
    </label>
    <div class="chips">
      ${SHOWS.map(
        (show, place) => html`<button
          key=${show}
          class=${`chip mark-${show}`}
          aria-pressed=${shows.has(show)}
          disabled=${!counts[place] && !shows.has(show)}
          onClick=${() => grid.toggle(show)}
        >
          ${show !== "recent" && html`<${Icon} name=${show} />`}${words.grid.shows[show]} <span class="number">${count(counts[place])}</span>
        </button>`,
      )}
    </div>
    <div class="rest">
      <${GridButton} grid=${grid} act=${act} name="add" />
      <${GridButton} grid=${grid} act=${act} name="compare" />
      <button class="chip" aria-pressed=${grid.isEqual.value} title=${words.grid.equalHint} onClick=${onEqual}>
        <${Icon} name="equal" />${words.grid.equal}
      </button>
      <${GridButton} grid=${grid} act=${act} name="legend" />
    </div>
  </div>`;
}

/** Full value of the active cell. @param {{ grid: any, value: string }} properties */
function Value({ grid, value }) {
  const element = useRef(/** @type {HTMLElement | null} */ (null));
  const isSelecting = grid.isSelecting.value;
  useLayoutEffect(() => {
    if (!isSelecting || !element.current) return;
    grid.isSelecting.value = false;
    getSelection()?.selectAllChildren(element.current);
  }, [isSelecting, value]);
  const parts = visibleParts(value).map(({ text, isMark }) => (isMark ? html`<i>${text}</i>` : text));
  return html`<pre ref=${element} tabindex="0">${value === "" ? html`<em>${words.cell.empty}</em>` : parts}</pre>
    <p class="quiet">${words.cell.revealed}</p>`;
}

/**
 * Buttons for actions on cells. `list` has the action, the text and the key of each, or `false`.
 * @param {{ act: Act, list: (string[] | false | undefined)[] }} properties
 */
export const Buttons = ({ act, list }) => html`<span class="buttons">
  ${list.map((one) => one && html`<button key=${one[0]} onClick=${() => act(one[0])}>${one[1]}${one[2] && html`<kbd>${one[2]}</kbd>`}</button>`)}
</span>`;

/**
 * Actions on the active cell.
 * @param {any} grid @param {any} secret @param {boolean} isOpen @param {boolean} isShown
 */
function cellActions(grid, secret, isOpen, isShown) {
  const at = editable(grid);
  const { environment } = grid.target();
  const canCopyTo = grid.environments.value.some((/** @type {any} */ other) => isWritable(other) && other.id !== environment.id);
  return [
    isOpen && (isShown ? ["reveal", words.cell.hide, "Esc"] : ["reveal", words.cell.reveal, "Enter"]),
    isOpen && ["copy", words.cell.copy, "C"],
    at && ["edit", words.edit.edit, "E"],
    at?.isHidable && ["hideHere", words.edit.hide, "X"],
    at?.isRemovable && ["delete", secret?.from ? words.edit.uncover : words.edit.delete, "Del"],
    at?.change && ["giveUp", words.edit.giveUp],
    isOpen && canCopyTo && ["copyTo", words.selected.copyTo, "P"],
    ["history", words.history.button, "H"],
  ];
}

/** Details of the active cell. @param {{ grid: any, row: any, place: number, act: any }} properties */
function Target({ grid, row, place, act }) {
  const environments = grid.environments.value;
  const environment = environments[place];
  const secret = row.cells[place];
  const mark = markOf(row, place, environment);
  const shown = grid.values.of(environment.id, row.key).value;
  const isShown = shown.state === "shown";
  const isOpen = isReadable(mark, secret);
  const change = grid.staged.value.changes.get(secretId(environment.id, row.key));
  return html`<div class="line">
      <span class=${`what mark-${mark}`}>${mark !== "absent" && html`<${Icon} name=${mark} />`}</span>
      <p>
        <strong class="name">${row.key}</strong> <span class="where">${environment.name}</span>
        <span class="said">${spoken(row, place, environments)}${secret && html`, <time datetime=${secret.updated_at} title=${exactly(secret.updated_at)}>${words.cell.changed(ago(secret.updated_at))}</time>`}</span>
        ${change && html`<span class="planned"><${Icon} name="edited" />${words.edit.unsaved}: ${changeText(grid, change)}. ${consequence(grid, change)}</span>`}
      </p>
      <${Buttons} act=${act} list=${cellActions(grid, secret, isOpen, isShown)} />
    </div>
    <div class="shown" aria-live="polite">
      ${isShown && html`<${Value} grid=${grid} value=${shown.value} />`}
      ${shown.state === "failed" && html`<p class="bad">${words.cell.failed}: ${errorText(shown.error)}</p>`}
    </div>`;
}

/**
 * Details of the active cell or of the selected cells. `Selection` is the component for several cells, once it is loaded.
 * @param {{ grid: GridState, act: Act, Selection?: any }} properties
 */
export function Detail({ grid, act, Selection }) {
  grid.place.value;
  if (Selection && grid.isSeveral.value) return html`<${Selection} grid=${grid} act=${act} />`;
  const { row, place, environment } = grid.target();
  if (!row) return null;
  const about = description(row);
  return html`<section class="detail" aria-label=${row.key}>
    ${environment
      ? html`<${Target} grid=${grid} row=${row} place=${place} act=${act} />`
      : html`<div class="line"><p><strong class="name">${row.key}</strong> <span class="said">${about}</span></p></div>`}
  </section>`;
}

/** Bar below the grid, shown while there are staged changes. @param {{ grid: GridState, act: Act }} properties */
export function SaveBar({ grid, act }) {
  const { label, kind, keys } = GRID_ACTIONS.review;
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
    <button class=${kind} onClick=${() => act("review")}>${label}<kbd>${keys}</kbd></button>
  </div>`;
}
