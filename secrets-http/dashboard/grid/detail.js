// Below the grid: the active cell in words, its value while it is shown, and its actions.

import { useLayoutEffect, useRef } from "preact/hooks";

import { html } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { errorText } from "../parts/states.js";
import { ago, exactly } from "../parts/time.js";
import { words } from "../words.js";
import { changeText, consequence, editable, editables, isWritable } from "./editing.js";
import { description, isReadable, markOf, spoken } from "./marks.js";
import { sizeOf } from "./selection.js";
import { changeId } from "./staged.js";
import { visibleParts } from "./values.js";

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
 * @param {{ grid: import("./state.js").GridState, act: (action: import("./keys.js").Action) => void }} properties
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
