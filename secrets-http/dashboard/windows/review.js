// The review of all staged changes, by environment, before they are saved.

import { useEffect, useRef, useState } from "preact/hooks";

import { hasValue } from "../grid/cells.js";
import { changeText, consequence, giveUp, isProduction } from "../grid/editing.js";
import { SHOWN_FOR, visibleParts } from "../grid/values.js";
import { Icon, html } from "../parts/html.js";
import { Dialog, errorText } from "../parts/messages.js";
import { rebase } from "./plan.js";
import { save } from "./save.js";
import { words } from "./words.js";

/** @typedef {import("../grid/staged.js").Change} Change */

/** Text of a value, in which invisible characters are shown by name. @param {{ value: string }} properties */
export function Shown({ value }) {
  if (value === "") return html`<em>${words.cell.empty}</em>`;
  return html`${visibleParts(value).map(({ text, isMark }) => (isMark ? html`<i>${text}</i>` : text))}`;
}

/** Calls `hide` after a time limit once a value is shown. @param {boolean} isShown @param {() => void} hide */
export function useHiding(isShown, hide) {
  useEffect(() => {
    if (!isShown) return undefined;
    const timer = setTimeout(hide, SHOWN_FOR);
    return () => clearTimeout(timer);
  }, [isShown]);
}

/**
 * Old or new state of a secret in the review: its value if revealed, otherwise `text`.
 * @param {{ label: string, text: string, value: string | null }} properties
 */
function Side({ label, text, value }) {
  return html`<div class="side"><dt>${label}</dt>
    <dd>${value === null ? html`<span class="quiet">${text}</span>` : html`<pre tabindex="0"><${Shown} value=${value} /></pre>`}</dd>
  </div>`;
}

/**
 * Old and new value of a change, loaded when the user reveals them.
 * @param {{ grid: any, id: string, change: Change, read: any }} properties
 */
function Values({ grid, change, read }) {
  const [shown, setShown] = useState(/** @type {null | { before: string | null, after: string | null }} */ (null));
  const [error, setError] = useState("");
  useHiding(shown !== null, () => setShown(null));
  const { environments, keys } = grid.comparison.value;
  const place = environments.findIndex((/** @type {any} */ { id }) => id === change.environment);
  const secret = keys.find((/** @type {any} */ { key }) => key === change.key)?.cells[place] ?? null;
  const isOld = hasValue(secret) && !secret.restricted;
  const reveal = async () => {
    try {
      const before = isOld ? await read(change.environment, change.key) : null;
      setShown({ before, after: change.action === "set" ? (change.value ?? "") : null });
      setError("");
    } catch (failed) {
      setError(errorText(failed));
    }
  };
  if (change.action === "describe") return null;
  const isSet = change.action === "set";
  const dots = "••••••";
  return html`<dl class="sides">
      <${Side} label=${words.review.before} text=${isOld ? dots : words.review.none} value=${shown?.before ?? null} />
      <${Side} label=${words.review.after} text=${isSet || change.action === "copy" ? dots : words.review.none} value=${shown?.after ?? null} />
    </dl>
    ${(isOld || isSet) &&
    html`<button class="link" aria-label=${words.review.revealOf(Boolean(shown), change.key)} onClick=${() => (shown ? setShown(null) : reveal())}>
      ${shown ? words.cell.hide : isOld ? words.review.revealRecorded : words.cell.reveal}
    </button>`}
    <span class="bad" role="status">${error}</span>`;
}

/**
 * Buttons to choose between the staged change and the version that another user has saved.
 * @param {{ grid: any, id: string, change: Change, version: number }} properties
 */
function Conflict({ grid, id, change, version }) {
  const mine = () => (grid.staged.value = rebase(grid.staged.value, id, version));
  return html`<div class="conflict" role="group" aria-label=${words.review.conflictOf(change.key)}>
    <p>${version ? words.review.conflict(version) : words.review.conflictGone}</p>
    <button data-choice="theirs" onClick=${() => giveUp(grid, [id])}>${words.review.theirs}</button>
    <button data-choice="mine" onClick=${mine}>${words.review.mine}</button>
  </div>`;
}

/**
 * List item for a staged change. `where` names its environment.
 * @param {{ grid: any, id: string, change: Change, read: any, where?: string }} properties
 */
function Line({ grid, id, change, read, where }) {
  const version = grid.conflicts.value.get(id);
  const effect = consequence(grid, change);
  const refused = grid.refusal.value?.rows.get(id);
  return html`<li class=${refused || version !== undefined ? "line bad-line" : "line"}>
    <p class="what"><strong class="name">${change.key}</strong>${where && html` <span class="where">${where}</span>`}
      <span class="said">${changeText(grid, change)}</span></p>
    <button class="bare" aria-label=${words.review.remove(change.key)} title=${words.review.remove(change.key)} onClick=${() => giveUp(grid, [id])}>
      <${Icon} name="close" />
    </button>
    <div class="more">
      ${change.description !== undefined && html`<p class="quiet">${words.review.description(change.description)}</p>`}
      <${Values} grid=${grid} id=${id} change=${change} read=${read} />
      ${effect && html`<p class="effect"><${Icon} name="inherited" />${effect}</p>`}
      ${refused && html`<p class="bad">${refused}</p>`}
      ${version !== undefined && html`<${Conflict} grid=${grid} id=${id} change=${change} version=${version} />`}
    </div>
  </li>`;
}

/** Changes that conflict with changes of other users. @param {{ grid: any, read: any }} properties */
function Conflicts({ grid, read }) {
  const conflicts = grid.conflicts.value;
  const all = [...grid.staged.value.changes].filter(([id]) => conflicts.has(id));
  if (!all.length) return null;
  const nameOf = (/** @type {string} */ id) => grid.environments.value.find((/** @type {any} */ one) => one.id === id)?.name ?? "";
  return html`<section>
    <h3 class="bad">${words.review.conflicts(all.length)}</h3>
    <ul class="lines">
      ${all.map(([id, change]) => html`<${Line} key=${id} grid=${grid} id=${id} change=${change} read=${read} where=${nameOf(change.environment)} />`)}
    </ul>
  </section>`;
}

/** Changes in one environment that have no conflict. @param {{ grid: any, environment: any, read: any }} properties */
function Group({ grid, environment, read }) {
  const conflicts = grid.conflicts.value;
  const all = [...grid.staged.value.changes].filter(([id, change]) => change.environment === environment.id && !conflicts.has(id));
  if (!all.length) return null;
  return html`<section>
    <h3 class=${isProduction(environment.name) ? "production" : ""}>${environment.name} <span class="quiet">${words.edit.changes(all.length)}</span></h3>
    <ul class="lines">${all.map(([id, change]) => html`<${Line} key=${id} grid=${grid} id=${id} change=${change} read=${read} />`)}</ul>
  </section>`;
}

/** Returns the changes in environments that do not exist any more. @param {any} grid @returns {[string, Change][]} */
function goneOf(grid) {
  const known = new Set(grid.environments.value.map((/** @type {any} */ { id }) => id));
  return [...grid.staged.value.changes].filter(([, { environment }]) => !known.has(environment));
}

/** Changes in environments that do not exist any more. They can only be discarded. @param {{ grid: any, read: any }} properties */
function Gone({ grid, read }) {
  const all = goneOf(grid);
  if (!all.length) return null;
  return html`<section>
    <h3 class="bad">${words.review.gone(all.length)}</h3>
    <ul class="lines">${all.map(([id, change]) => html`<${Line} key=${id} grid=${grid} id=${id} change=${change} read=${read} />`)}</ul>
    <button onClick=${() => giveUp(grid, all.map(([id]) => id))}>${words.review.discardGone(all.length)}</button>
  </section>`;
}

/**
 * Buttons of the review window. Changes to a production environment need a second confirmation.
 * @param {{ grid: any, reload: any, onClose: () => void }} properties
 */
function Buttons({ grid, reload, onClose }) {
  const [isAsked, setAsked] = useState(false);
  const confirm = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const { changes } = grid.staged.value;
  const names = grid.environments.value.filter((/** @type {any} */ { id, name }) =>
    isProduction(name) && [...changes.values()].some(({ environment }) => environment === id)).map((/** @type {any} */ { name }) => name);
  useEffect(() => {
    if (isAsked) confirm.current?.focus();
  }, [isAsked]);
  const isUncertain = grid.isUncertain.value;
  const isRefused = grid.conflicts.value.size > 0 || goneOf(grid).length > 0;
  const isBlocked = grid.isSaving.value || (isRefused && !isUncertain) || !changes.size;
  const begin = () => {
    if (names.length && !isAsked && !isUncertain) return setAsked(true);
    setAsked(false);
    return save(grid, reload);
  };
  const label = isUncertain ? words.retry : isAsked ? words.review.confirm(names.join(", ")) : words.review.save(changes.size);
  return html`${isAsked && html`<p class="ask">${words.review.ask(names.join(", "))}</p>`}
    <button onClick=${isAsked ? () => setAsked(false) : onClose}>${isAsked ? words.review.back : words.review.continue}</button>
    <button ref=${confirm} class=${isAsked ? "main danger" : "main"} aria-disabled=${isBlocked} onClick=${() => !isBlocked && begin()}>
      ${grid.isSaving.value ? words.review.saving : label}
    </button>`;
}

/**
 * Window in which the user reviews and saves the staged changes.
 * @param {{ grid: import("../grid/state.js").GridState, reload: any, read: any }} properties
 */
export function Review({ grid, reload, read }) {
  const { changes } = grid.staged.value;
  const refusal = grid.refusal.value;
  const close = () => {
    grid.isReviewing.value = false;
    grid.refusal.value = null;
  };
  useEffect(() => {
    if (!changes.size) close();
  }, [changes.size]);
  const buttons = html`<${Buttons} grid=${grid} reload=${reload} onClose=${close} />`;
  return html`<${Dialog} title=${words.review.title} onClose=${close} actions=${buttons} kind="panel">
    <div role="alert" class="refusal">
      ${refusal && html`<p class="bad">${refusal.text}</p>`}
      ${refusal?.requestId && html`<p class="quiet">${words.errors.requestId} <code>${refusal.requestId}</code></p>`}
    </div>
    <${Gone} grid=${grid} read=${read} />
    <${Conflicts} grid=${grid} read=${read} />
    ${grid.environments.value.map((environment) => html`<${Group} key=${environment.id} grid=${grid} environment=${environment} read=${read} />`)}
  <//>`;
}
