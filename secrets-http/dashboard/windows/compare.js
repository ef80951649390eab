// Window that compares two environments. The copies of the selected keys are staged, and then reviewed.

import { useEffect, useId, useRef, useState } from "preact/hooks";

import { api } from "../api.js";
import { filtered, hasValue, isReadable, markOf, spoken } from "../grid/cells.js";
import { changeText, comparable, isWritable, stageAll } from "../grid/editing.js";
import { secretId } from "../grid/staged.js";
import { Icon, html } from "../parts/html.js";
import { Dialog, errorText } from "../parts/messages.js";
import { KINDS, differences, lineDifferences } from "./differences.js";
import { Shown } from "./review.js";
import { copiesOf } from "./selected.js";
import { words } from "./words.js";

/** @typedef {import("../grid/state.js").GridState} GridState */
/** @typedef {import("../grid/cells.js").Environment} Environment */
/** @typedef {import("./differences.js").Difference} Difference */

/** Signs between two values, by group. @type {Record<string, string>} */
const SIGNS = { onlySource: "→", different: "≠", unknown: "?", onlyTarget: "", equal: "=" };

/**
 * Returns the two environments that are compared first: the active one and the next one, or else the one before.
 * @param {GridState} grid
 */
function firstPair(grid) {
  const all = comparable(grid);
  const active = Math.max(0, all.findIndex(({ id }) => id === grid.target().environment?.id));
  const source = Math.max(0, Math.min(active, all.length - 2));
  return { source: all[source]?.id, target: all[source + 1]?.id };
}

/** Lets the service compare the values of two environments, when the user asks for it. @param {GridState} grid */
function useCompared(grid) {
  const [compared, setCompared] = useState(/** @type {import("../grid/cells.js").Comparison | null} */ (null));
  const [said, setSaid] = useState("");
  // Only the response to the latest request is used.
  const latest = useRef(0);
  const compare = async (/** @type {string[]} */ environments) => {
    const number = ++latest.current;
    setSaid(words.loading);
    try {
      const { body } = await api.compare(grid.project.slug, { equal: true, environments });
      if (number !== latest.current) return;
      setCompared(body);
      setSaid(words.compare.compared);
    } catch (error) {
      if (number === latest.current) setSaid(errorText(error));
    }
  };
  const forget = () => {
    latest.current += 1;
    setSaid("");
  };
  return { compared, said, forget, compare };
}

/**
 * Field to choose one of the two environments.
 * @param {{ label: string, environments: Environment[], value: string, onChange: (id: string) => void, autofocus?: boolean }} properties
 */
const Choice = ({ label, environments, value, onChange, autofocus }) => html`<label class="field">${label}
  <select autofocus=${autofocus} value=${value} onChange=${(/** @type {any} */ event) => onChange(event.target.value)}>
    ${environments.map(({ id, name }) => html`<option key=${id} value=${id}>${name}</option>`)}
  </select>
</label>`;

/**
 * Mark of a cell with its description in words.
 * @param {{ grid: GridState, row: import("../grid/cells.js").Row, environment: Environment }} properties
 */
function Side({ grid, row, environment }) {
  const environments = grid.environments.value;
  const place = environments.indexOf(environment);
  const mark = markOf(row, place, environment);
  const change = grid.staged.value.changes.get(secretId(environment.id, row.key));
  return html`<span class=${`mark mark-${mark}`}>${mark !== "absent" && html`<${Icon} name=${mark} />`}${spoken(row, place, environments)}
    ${change && html`<span class="planned"><${Icon} name="edited" />${words.edit.unsaved}: ${changeText(grid, change)}</span>`}</span>`;
}

/**
 * Returns the environments of the pair whose values can be revealed: none, if the caller may not read one of the values.
 * @param {GridState} grid @param {import("../grid/cells.js").Row} row @param {Environment[]} pair
 */
function revealable(grid, row, pair) {
  const placeOf = (/** @type {Environment} */ environment) => grid.environments.value.indexOf(environment);
  const holders = pair.filter((environment) => hasValue(row.cells[placeOf(environment)]));
  const isOpen = (/** @type {Environment} */ environment) => isReadable(markOf(row, placeOf(environment), environment), row.cells[placeOf(environment)]);
  return holders.every(isOpen) ? holders : [];
}

/** Text of a value, in which lines are marked that the other value does not have. @param {{ lines: import("./differences.js").Line[] }} properties */
const Lines = ({ lines }) =>
  lines.map(({ text, isDifferent }, place) => {
    const shown = text && html`<${Shown} value=${text} />`;
    return html`${place > 0 && "\n"}${isDifferent ? html`<mark>${shown}</mark>` : shown}`;
  });

/** Copies a revealed value to the clipboard. If the browser refuses, selects the element that shows it. */
function useCopying() {
  const [said, setSaid] = useState({ text: "", isCopied: false });
  const write = async (/** @type {string} */ value, /** @type {string} */ text, /** @type {Element | null | undefined} */ element = null) => {
    try {
      await navigator.clipboard.writeText(value);
      setSaid({ text, isCopied: value !== "" });
    } catch {
      if (element) getSelection()?.selectAllChildren(element);
      setSaid({ text: element ? words.copyRefused : words.clearRefused, isCopied: false });
    }
  };
  return { said, write };
}

/**
 * Revealed values of a key, side by side. Hides them when it is removed, and calls `onHide` when they are hidden.
 * @param {{ grid: GridState, name: string, sides: Environment[], onHide: () => void }} properties
 */
function Revealed({ grid, name, sides, onHide }) {
  const shown = sides.map(({ id }) => grid.values.of(id, name).value);
  const values = shown.map((one) => (one.state === "shown" ? one.value : undefined));
  const lines = values.some((value) => value?.includes("\n")) ? lineDifferences(values) : [];
  const { said, write } = useCopying();
  const isHidden = shown.every(({ state }) => state === "hidden");
  useEffect(() => {
    if (isHidden) onHide();
  }, [isHidden]);
  useEffect(() => () => sides.forEach(({ id }) => grid.values.hide(id, name)), []);
  const copy = (/** @type {any} */ event, /** @type {number} */ side) =>
    write(values[side] ?? "", words.compare.copied(name, sides[side].name), event.currentTarget.closest(".side").querySelector("pre"));
  return html`<div class="revealed">
    <p class="quiet"><span role="status">${said.text || words.cell.revealed}</span>
      ${said.isCopied && html` <button class="link" onClick=${() => write("", words.cleared)}>${words.clearClipboard}</button>`}</p>
    <dl class="sides">
      ${sides.map((environment, side) => {
        const one = shown[side];
        return html`<div key=${environment.id} class="side"><dt>${environment.name}
            ${one.state === "shown" && html`<button class="link" aria-label=${words.compare.copy(name, environment.name)} onClick=${(/** @type {any} */ event) => copy(event, side)}>${words.cell.copy}</button>`}</dt>
          <dd>${one.state === "shown" && html`<pre tabindex="0">${lines[side] ? html`<${Lines} lines=${lines[side]} />` : html`<${Shown} value=${one.value} />`}</pre>`}
            ${one.state === "failed" && html`<p class="bad" role="alert">${words.cell.failed}: ${errorText(one.error)}</p>`}
            ${one.state === "loading" && html`<span class="quiet">${words.cell.loading}</span>`}
            ${one.state === "hidden" && html`<span class="quiet">••••••</span>`}</dd>
        </div>`;
      })}
    </dl>
  </div>`;
}

/**
 * List item for a key.
 * @param {{ grid: GridState, difference: Difference, pair: Environment[], isSelected: boolean, onSelect: (isOn: boolean) => void }} properties
 */
function Line({ grid, difference: { row, kind, canCopy }, pair, isSelected, onSelect }) {
  const id = useId();
  const [isShown, setShown] = useState(false);
  const [source, target] = pair;
  const sides = revealable(grid, row, pair);
  const name = html`<span class="name">${row.key}</span>`;
  const toggle = () => {
    if (!isShown) sides.forEach((environment) => grid.values.reveal(environment.id, row.key));
    setShown(!isShown);
  };
  return html`<li class="difference">
    ${canCopy
      ? html`<label class="check"><input type="checkbox" aria-describedby=${id} checked=${isSelected} onChange=${(/** @type {any} */ event) => onSelect(event.target.checked)} />${name}</label>`
      : html`<span class="check">${name}</span>`}
    <span id=${id} class="pair">
      <${Side} grid=${grid} row=${row} environment=${source} /><span class="sign">${SIGNS[kind]}</span><${Side} grid=${grid} row=${row} environment=${target} />
    </span>
    ${sides.length > 0 && html`<button class="link" aria-label=${words.compare.reveal(isShown, row.key)} aria-expanded=${isShown} onClick=${toggle}>${isShown ? words.cell.hide : words.cell.reveal}</button>`}
    ${isShown && html`<${Revealed} key=${pair.map((environment) => environment.id).join()} grid=${grid} name=${row.key} sides=${sides} onHide=${() => setShown(false)} />`}
  </li>`;
}

/**
 * Group of keys, with a checkbox to select them all. Equal keys are listed when the user opens the group.
 * @param {{ grid: GridState, title: string, all: Difference[], pair: Environment[], selected: ReadonlySet<string>,
 *   select: (keys: string[], isOn: boolean) => void }} properties
 */
function Group({ grid, title, all, pair, selected, select }) {
  const keys = all.filter(({ canCopy }) => canCopy).map(({ row }) => row.key);
  const chosen = keys.filter((key) => selected.has(key)).length;
  const heading = html`${title} <span class="number">${words.grid.keys(all.length)}</span>`;
  const list = html`<ul class="lines">
    ${all.map((difference) => html`<${Line} key=${difference.row.key} grid=${grid} difference=${difference} pair=${pair}
      isSelected=${selected.has(difference.row.key)} onSelect=${(/** @type {boolean} */ isOn) => select([difference.row.key], isOn)} />`)}
  </ul>`;
  if (all[0].kind === "equal") return html`<details><summary>${heading}</summary>${list}</details>`;
  const box = html`<input type="checkbox" aria-label=${words.compare.all(title)} checked=${chosen === keys.length}
    indeterminate=${chosen > 0 && chosen < keys.length} onChange=${(/** @type {any} */ event) => select(keys, event.target.checked)} />`;
  return html`<section><h3 class="check">${keys.length > 0 && box}<span>${heading}</span></h3>${list}</section>`;
}

/** Arrows move the focus between the checkboxes. Enter reveals or hides the values of a key, as in the grid. @param {any} event */
function onKeyDown(event) {
  if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && event.target.matches("input[type=checkbox]")) {
    event.preventDefault();
    event.target.closest(".difference")?.querySelector("[aria-expanded]")?.click();
  }
  const step = { ArrowUp: -1, ArrowDown: 1 }[/** @type {string} */ (event.key)];
  if (!step || !event.target.matches("input")) return;
  event.preventDefault();
  const boxes = [...event.currentTarget.querySelectorAll("input[type=checkbox]")];
  boxes[boxes.indexOf(event.target) + step]?.focus();
}

/**
 * Holds the chosen environments, the filter and the selected keys.
 * @param {GridState} grid
 */
function useChoice(grid) {
  const [ids, setIds] = useState(() => firstPair(grid));
  const [text, setText] = useState("");
  const [selected, setSelected] = useState(/** @type {ReadonlySet<string>} */ (new Set()));
  const choose = (/** @type {Partial<typeof ids>} */ change) => {
    const next = { ...ids, ...change };
    // The other field gets the environment that this field had before.
    setIds(next.source === next.target ? { source: ids.target, target: ids.source } : next);
    setSelected(new Set());
  };
  const select = (/** @type {string[]} */ keys, /** @type {boolean} */ isOn) =>
    setSelected(new Set(isOn ? [...selected, ...keys] : [...selected].filter((key) => !keys.includes(key))));
  return { ids, choose, text, setText, selected, select };
}

/**
 * Fields to choose the environments and to filter the keys.
 * @param {{ environments: Environment[], pair: Environment[], choose: (ids: { source?: string, target?: string }) => void, text: string,
 *   setText: (text: string) => void, onCompare: () => void }} properties
 */
function Choices({ environments, pair: [source, target], choose, text, setText, onCompare }) {
  return html`<div class="choices">
    <${Choice} label=${words.compare.source} environments=${environments} value=${source.id} onChange=${(/** @type {string} */ id) => choose({ source: id })} autofocus />
    <${Choice} label=${words.compare.target} environments=${environments} value=${target.id} onChange=${(/** @type {string} */ id) => choose({ target: id })} />
    <button onClick=${() => choose({ source: target.id, target: source.id })}><${Icon} name="compare" />${words.compare.swap}</button>
    <label class="search"><${Icon} name="search" />
      <input type="search" aria-label=${words.grid.filter} placeholder=${words.grid.filter} autocomplete="off" spellcheck="false" value=${text}
        onInput=${(/** @type {any} */ event) => setText(event.target.value)} />
    </label>
    <button onClick=${onCompare}><${Icon} name="equal" />${words.compare.values}</button>
  </div>`;
}

/**
 * Number of selected keys, and the buttons of the window.
 * @param {{ target: Environment, number: number, onClose: () => void, onStage: () => void }} properties
 */
function Buttons({ target, number, onClose, onStage }) {
  const isOpen = isWritable(target);
  return html`<p class="quiet count" role="status">${isOpen ? words.compare.selected(number) : words.compare.readOnly(target.name)}</p>
    <button onClick=${onClose}>${words.cancel}<kbd>Esc</kbd></button>
    ${isOpen && html`<button class="main" aria-disabled=${!number} onClick=${onStage}>${words.compare.stage(number, target.name)}<kbd>Ctrl-Enter</kbd></button>`}`;
}

/**
 * Window that compares two environments.
 * @param {{ grid: GridState, pair: Environment[], choice: ReturnType<typeof useChoice> }} properties
 */
function Pair({ grid, pair, choice: { choose, text, setText, selected, select } }) {
  const { compared, said, forget, compare } = useCompared(grid);
  const comparison = grid.comparison.value;
  const [source, target] = pair;
  const close = () => (grid.isComparing.value = false);
  const isOpen = isWritable(target);
  const all = differences(comparison, source.id, target.id, compared).map((one) => ({ ...one, canCopy: one.canCopy && isOpen }));
  const matching = new Set(filtered(comparison, text, new Set()));
  const groups = Map.groupBy(all.filter(({ row }) => matching.has(row)), ({ kind }) => kind);
  const chosen = all.filter(({ row, canCopy }) => canCopy && selected.has(row.key)).map(({ row }) => ({ row, environment: source }));
  const stage = () => {
    if (!chosen.length) return;
    stageAll(grid, copiesOf(chosen, target, comparison.environments.indexOf(target)).changes);
    close();
    grid.isReviewing.value = true;
  };
  const change = (/** @type {{ source?: string, target?: string }} */ ids) => (choose(ids), forget());
  const buttons = html`<${Buttons} target=${target} number=${chosen.length} onClose=${close} onStage=${stage} />`;
  return html`<${Dialog} title=${words.compare.title(source.name, target.name)} onClose=${close} onConfirm=${stage} actions=${buttons} kind="wide page">
    <div class="compare" onKeyDown=${onKeyDown}>
      <${Choices} environments=${comparable(grid)} pair=${pair} choose=${change} text=${text} setText=${setText} onCompare=${() => compare([source.id, target.id])} />
      <p class="quiet" role="status">${said || words.grid.equalHint}</p>
      ${!groups.size && html`<p>${all.length ? words.grid.noMatch : words.compare.none}</p>`}
      ${KINDS.filter((kind) => groups.has(kind)).map((kind) => html`<${Group} key=${kind} grid=${grid} title=${words.compare.kinds[kind](source.name, target.name)}
        all=${groups.get(kind)} pair=${pair} selected=${selected} select=${select} />`)}
    </div>
  <//>`;
}

/** Window that compares two environments, while the user can see both. @param {{ grid: GridState }} properties */
export function Compare({ grid }) {
  const choice = useChoice(grid);
  const pair = [choice.ids.source, choice.ids.target].flatMap((id) => comparable(grid).filter((environment) => environment.id === id));
  const isPossible = pair.length === 2;
  // An environment was deleted, or the user may not see it any more.
  useEffect(() => {
    if (!isPossible) grid.isComparing.value = false;
  }, [isPossible]);
  return isPossible ? html`<${Pair} grid=${grid} pair=${pair} choice=${choice} />` : null;
}
