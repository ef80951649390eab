// Above and below the grid: the toolbar, the active cell in words with its value and actions, and the bar for
// staged changes.

import { useLayoutEffect, useRef } from "preact/hooks";

import { Icon, html } from "../parts/html.js";
import { errorText } from "../parts/messages.js";
import { ago, count, exactly, words } from "../words.js";
import { SHOWS, description, isReadable, markOf, sizeOf, spoken } from "./cells.js";
import { changeText, comparable, consequence, discard, editable, editables, isWritable, lastText } from "./editing.js";
import { changeId } from "./staged.js";
import { visibleParts } from "./values.js";

/** @type {Record<string, string>} */
const ICONS = { missing: "missing", override: "override", hidden: "hidden", managed: "managed" };

/** Toolbar of the grid. @param {{ grid: import("./state.js").GridState, onEqual: () => void }} properties */
export function Toolbar({ grid, onEqual }) {
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
          ${ICONS[show] && html`<${Icon} name=${ICONS[show]} />`}${words.grid.shows[show]} <span class="number">${count(counts[place])}</span>
        </button>`,
      )}
    </div>
    <div class="rest">
      ${grid.environments.value.some(isWritable) &&
      html`<button onClick=${() => (grid.editing.value = "new")}><${Icon} name="plus" />${words.edit.add}</button>`}
      ${comparable(grid).length > 1 &&
      html`<button class="bare" aria-label=${words.grid.compare} title=${`${words.grid.compare} (d)`} onClick=${() => (grid.isComparing.value = true)}>
        <${Icon} name="compare" />
      </button>`}
      <button class="chip" aria-pressed=${grid.isEqual.value} title=${words.grid.equalHint} onClick=${onEqual}>
        <${Icon} name="equal" />${words.grid.equal}
      </button>
      <button class="bare" aria-label=${words.grid.legend} title=${`${words.grid.legend} (?)`} onClick=${() => (grid.isLegendOpen.value = true)}>
        <${Icon} name="help" />
      </button>
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

/** Buttons for actions on the active cell. @param {{ grid: any, secret: any, isOpen: boolean, isShown: boolean, act: any }} properties */
function Buttons({ grid, secret, isOpen, isShown, act }) {
  const at = editable(grid);
  const { environment } = grid.target();
  const canCopyTo = grid.environments.value.some((/** @type {any} */ other) => isWritable(other) && other.id !== environment.id);
  const button = (/** @type {string} */ action, /** @type {string} */ label, /** @type {string} */ key) =>
    html`<button key=${action} onClick=${() => act(action)}>${label}<kbd>${key}</kbd></button>`;
  const remove = secret?.from ? words.edit.uncover : words.edit.delete;
  return html`<span class="buttons">
    ${isOpen && button("reveal", isShown ? words.cell.hide : words.cell.reveal, isShown ? "Esc" : "Enter")}
    ${isOpen && button("copy", words.cell.copy, "C")}
    ${at && button("edit", words.edit.edit, "E")}
    ${at?.isHidable && button("hideHere", words.edit.hide, "X")}
    ${at?.isRemovable && button("delete", remove, "Del")}
    ${at?.change && html`<button onClick=${() => act("giveUp")}>${words.edit.giveUp}</button>`}
    ${isOpen && canCopyTo && button("copyTo", words.selected.copyTo, "P")}
    ${button("history", words.history.button, "H")}
  </span>`;
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
  const change = grid.staged.value.changes.get(changeId(environment.id, row.key));
  return html`<div class="line">
      <span class=${`what mark-${mark}`}>${mark !== "absent" && html`<${Icon} name=${mark} />`}</span>
      <p>
        <strong class="name">${row.key}</strong> <span class="where">${environment.name}</span>
        <span class="said">${spoken(row, place, environments)}${secret && html`, <time datetime=${secret.updated_at} title=${exactly(secret.updated_at)}>${words.cell.changed(ago(secret.updated_at))}</time>`}</span>
        ${change && html`<span class="planned"><${Icon} name="edited" />${words.edit.unsaved}: ${changeText(grid, change)}. ${consequence(grid, change)}</span>`}
      </p>
      <${Buttons} grid=${grid} secret=${secret} isOpen=${isOpen} isShown=${isShown} act=${act} />
    </div>
    <div class="shown" aria-live="polite">
      ${isShown && html`<${Value} grid=${grid} value=${shown.value} />`}
      ${shown.state === "failed" && html`<p class="bad">${words.cell.failed}: ${errorText(shown.error)}</p>`}
    </div>`;
}

/** Number of selected cells, and buttons for actions on them. @param {{ grid: import("./state.js").GridState, act: any }} properties */
function Selection({ grid, act }) {
  const cells = grid.targets();
  const changeable = editables(grid);
  const environments = new Set(cells.map(({ environment }) => environment.id)).size;
  const isOpen = cells.some(({ row, place, environment }) => isReadable(markOf(row, place, environment), row.cells[place]));
  const isStaged = changeable.some(({ change }) => change);
  const button = (/** @type {string} */ action, /** @type {string} */ label, /** @type {string} */ key) =>
    html`<button key=${action} onClick=${() => act(action)}>${label}${key && html`<kbd>${key}</kbd>`}</button>`;
  return html`<section class="detail" aria-label=${words.selected.count(cells.length, environments)}>
    <div class="line"><p role="status"><strong>${words.selected.count(cells.length, environments)}</strong></p>
      <span class="buttons">
        ${isOpen && environments === 1 && button("copy", words.selected.copy, "C")}
        ${isOpen && environments === 1 && button("copyTo", words.selected.copyTo, "P")}
        ${changeable.length > 0 && button("generate", words.selected.generate, "Shift-G")}
        ${changeable.some(({ isHidable }) => isHidable) && button("hideHere", words.edit.hide, "X")}
        ${changeable.some(({ isRemovable }) => isRemovable) && button("delete", words.edit.delete, "Del")}
        ${isStaged && button("giveUp", words.edit.giveUp, "")}
        ${button("hide", words.selected.end, "Esc")}
      </span>
    </div>
  </section>`;
}

/**
 * Details of the active cell or of the selected cells.
 * @param {{ grid: import("./state.js").GridState, act: (action: import("./cells.js").Action) => void }} properties
 */
export function Detail({ grid, act }) {
  grid.place.value;
  if (sizeOf(grid.selection.value) > 1) return html`<${Selection} grid=${grid} act=${act} />`;
  const { row, place, environment } = grid.target();
  if (!row) return null;
  const about = description(row);
  return html`<section class="detail" aria-label=${row.key}>
    ${environment
      ? html`<${Target} grid=${grid} row=${row} place=${place} act=${act} />`
      : html`<div class="line"><p><strong class="name">${row.key}</strong> <span class="said">${about}</span></p></div>`}
  </section>`;
}

/** Bar below the grid, shown while there are staged changes. @param {{ grid: import("./state.js").GridState }} properties */
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
