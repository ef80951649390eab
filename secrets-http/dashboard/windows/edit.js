// Dialog that edits a value or adds a key. It stages the change, and saves nothing.

import { useId, useRef, useState } from "preact/hooks";

import { description as descriptionOf, isReadable, markOf } from "../grid/cells.js";
import { generated, isWritable, stageAll } from "../grid/editing.js";
import { isRemoval, ownVersion, secretId } from "../grid/staged.js";
import { html } from "../parts/html.js";
import { Dialog, errorText } from "../parts/messages.js";
import { words } from "./words.js";

/** Pattern that the service requires for keys. */
const KEY = /^[A-Za-z_][A-Za-z0-9_.-]*$/;
const MAX_KEY = 255;

/**
 * Length in characters above which a value is edited in a wide window, as are all values with line
 * breaks.
 */
const LONG = 80;

/**
 * Returns the environments from which the caller can copy the value of a key.
 * @param {import("../grid/state.js").GridState} grid @param {string} key @param {string} environment ID of the environment that gets the copy
 */
function sources(grid, key, environment) {
  const { environments, keys } = grid.comparison.value;
  const row = keys.find((row) => row.key === key);
  if (!row) return [];
  return environments.filter(
    (source, place) => source.id !== environment && isReadable(markOf(row, place, source), row.cells[place]),
  );
}

/**
 * Returns the error for a new key, or an empty string.
 * @param {import("../grid/state.js").GridState} grid @param {string} key @param {string} environment
 */
function keyError(grid, key, environment) {
  if (!KEY.test(key) || key.length > MAX_KEY) return words.edit.keyRule;
  const { keys, environments } = grid.merged.value;
  const place = environments.findIndex(({ id }) => id === environment);
  const hasSecret = ownVersion(keys.find((row) => row.key === key)?.cells[place]) > 0;
  if (hasSecret || grid.staged.value.changes.has(secretId(environment, key))) return words.edit.keyExists;
  return "";
}

const LINE_BREAK = /\r\n|\r|\n/g;

/**
 * Returns a value as a text field holds it, with `\n` for each line break, and the line break that the value has.
 * @param {string} value
 */
function fieldOf(value) {
  const breaks = new Set(value.match(LINE_BREAK) ?? []);
  const [lineBreak = "\n"] = breaks.size === 1 ? breaks : [];
  return { text: value.replace(LINE_BREAK, "\n"), lineBreak, isMixed: breaks.size > 1 };
}

/**
 * Holds the content of the editor window, and the change that it would stage.
 * @param {import("../grid/state.js").GridState} grid @param {import("../grid/editing.js").Editable | null} at
 */
function useDraft(grid, at) {
  const place = grid.environments.value.findIndex(({ id }) => id === at?.environment.id);
  const shown = at ? grid.values.of(at.environment.id, at.key).value : null;
  const known = at?.change?.value ?? (shown?.state === "shown" ? shown.value : undefined);
  const [loaded, setLoaded] = useState(() => fieldOf(known ?? ""));
  const [value, setValue] = useState(loaded.text);
  const [isTouched, setTouched] = useState(!at);
  const [from, setFrom] = useState(at?.change?.from ?? "");
  // The service takes a description only of a secret that the environment itself has, or with a value. It takes none with
  // a change that hides or deletes the secret; a value replaces that change.
  const isRemoved = isRemoval(at?.change);
  const isKept = (ownVersion(at?.secret) > 0 && !isRemoved) || ["set", "copy"].includes(at?.change?.action ?? "");
  const canDescribe = isTouched || from !== "" || isKept;
  const before = at?.change?.description ?? (ownVersion(at?.secret) ? (at?.secret?.description ?? "") : "");
  const [about, setAbout] = useState(before);
  /** Number of times that the user has changed the value. */
  const writes = useRef(0);
  const write = (/** @type {string} */ text) => (writes.current++, setValue(text), setTouched(true));
  /** Loads a value. Returns false, and keeps the text, if the user changes it meanwhile. */
  const load = async (/** @type {() => Promise<string>} */ read) => {
    const before = writes.current;
    const next = fieldOf(await read());
    if (writes.current !== before) return false;
    setLoaded(next);
    setValue(next.text);
    return true;
  };
  /**
   * Returns the change that the content would stage, or `null` if nothing has changed.
   * @param {string} key @param {string} environment @returns {import("../grid/staged.js").Change | null}
   */
  const change = (key, environment) => {
    const base = ownVersion(at?.secret);
    const hasAbout = canDescribe && about !== before;
    const described = hasAbout ? { description: about } : {};
    if (from && (from !== at?.change?.from || hasAbout)) return { environment, key, action: "copy", from, base, ...described };
    if (!from && isTouched) return { environment, key, action: "set", value: value.replaceAll("\n", loaded.lineBreak), base, ...described };
    return hasAbout ? { environment, key, action: "describe", description: about, base } : null;
  };
  // A field that is disabled shows no text that would be lost.
  const shownAbout = canDescribe ? about : before;
  return { place, isKnown: known !== undefined, value, isMixed: loaded.isMixed, write, load, from, setFrom, about: shownAbout, setAbout, canDescribe, isRemoved, change };
}

/** Fields for the key and the environment of a new secret. @param {any} properties */
function NewKey({ grid, key_, setKey, environment, setEnvironment, error, ids }) {
  const open = grid.environments.value.filter(isWritable);
  return html`<label class="field">${words.edit.key}
      <input id=${ids.key} class="mono" value=${key_} autofocus autocomplete="off" spellcheck="false" maxlength=${MAX_KEY} aria-invalid=${Boolean(error)}
        aria-describedby=${ids.error} onInput=${(/** @type {any} */ event) => setKey(event.target.value)} />
    </label>
    <p id=${ids.error} class="bad" role="alert">${error}</p>
    <label class="field">${words.grid.environment}
      <select value=${environment} onChange=${(/** @type {any} */ event) => setEnvironment(event.target.value)}>
        ${open.map((/** @type {any} */ { id, name }) => html`<option value=${id}>${name}</option>`)}
      </select>
    </label>`;
}

/**
 * Buttons that fill the value field with the stored value or a random value.
 * @param {any} properties
 */
function Fillers({ grid, at, draft, read }) {
  const [state, setState] = useState("");
  const load = async () => {
    setState(words.loading);
    try {
      const isShown = await draft.load(() => read(at.environment.id, at.key));
      setState(isShown ? words.edit.loaded : words.edit.kept);
    } catch (error) {
      setState(errorText(error));
    }
  };
  const canLoad = at && !draft.isKnown && at.secret && !at.secret.restricted && !at.secret.state.endsWith("hidden");
  return html`<div class="fillers">
    ${canLoad && html`<button type="button" onClick=${load}>${words.edit.load}</button>`}
    <button type="button" onClick=${() => draft.write(generated())}>${words.edit.generate}</button>
    <span class="quiet" role="status">${state}</span>
  </div>`;
}

/**
 * Window to edit the value and the description of a secret.
 * @param {{ grid: import("../grid/state.js").GridState, at: import("../grid/editing.js").Editable | null,
 *   read: (environment: string, key: string) => Promise<string> }} properties `at` is `null` for a new key
 */
export function Editor({ grid, at, read }) {
  const ids = { key: useId(), error: useId(), about: useId(), hint: useId() };
  const draft = useDraft(grid, at);
  const first = grid.target().environment;
  const [key, setKey] = useState(at?.key ?? "");
  const [environment, setEnvironment] = useState(
    at?.environment.id ?? (first && isWritable(first) ? first.id : (grid.environments.value.find(isWritable)?.id ?? "")),
  );
  const [error, setError] = useState("");
  const close = () => (grid.editing.value = null);
  const keep = (/** @type {Event} */ event) => {
    event.preventDefault();
    const wrong = at ? "" : keyError(grid, key, environment);
    setError(wrong);
    if (wrong) return void document.getElementById(ids.key)?.focus();
    const change = draft.change(key, environment);
    if (change) stageAll(grid, [change]);
    if (change) grid.values.hide(environment, key);
    close();
    if (!at) grid.goTo(key, environment);
  };
  const copies = sources(grid, key, environment);
  const buttons = html`<button type="button" onClick=${close}>${words.cancel}<kbd>Esc</kbd></button>
    <button type="submit" form="edit" class="main">${words.edit.keep}<kbd>Ctrl-Enter</kbd></button>`;
  const isLong = draft.value.length > LONG || draft.value.includes("\n");
  const title = at ? words.edit.title(at.key, at.environment.name) : words.edit.add;
  const row = grid.comparison.value.keys.find((row) => row.key === key);
  return html`<${Dialog} title=${title} onClose=${close} onConfirm=${keep} actions=${buttons} kind=${isLong ? "wide" : ""}>
    <form id="edit" class="form" onSubmit=${keep}>
      ${!at && html`<${NewKey} grid=${grid} key_=${key} setKey=${setKey} environment=${environment} setEnvironment=${setEnvironment} error=${error} ids=${ids} />`}
      ${copies.length > 0 &&
      html`<label class="field">${words.edit.source}
        <select value=${draft.from} onChange=${(/** @type {any} */ event) => draft.setFrom(event.target.value)}>
          <option value="">${words.edit.typed}</option>
          ${copies.map(({ id, name }) => html`<option value=${id}>${words.edit.copyOf(name)}</option>`)}
        </select>
      </label>`}
      ${draft.from
        ? html`<p class="quiet">${words.edit.copyHint}</p>`
        : html`<label class="field">${words.edit.value}
            <textarea class="mono" rows=${isLong ? 14 : 3} value=${draft.value} autofocus=${Boolean(at)} autocomplete="off" spellcheck="false"
              aria-describedby=${ids.hint} onInput=${(/** @type {any} */ event) => draft.write(event.target.value)}></textarea>
          </label>
          ${draft.isMixed && html`<p class="quiet">${words.edit.mixed}</p>`}
          <${Fillers} grid=${grid} at=${at} draft=${draft} read=${read} />`}
      <label class="field">${words.edit.about}
        <input value=${draft.about} placeholder=${row ? descriptionOf(row) : ""} maxlength="500" autocomplete="off" disabled=${!draft.canDescribe}
          aria-describedby=${draft.canDescribe ? undefined : ids.about} onInput=${(/** @type {any} */ event) => draft.setAbout(event.target.value)} />
      </label>
      ${!draft.canDescribe && html`<p id=${ids.about} class="quiet">${draft.isRemoved ? words.edit.removed : words.edit.noValue}</p>`}
      <p id=${ids.hint} class="quiet">${words.edit.hint}</p>
    </form>
  <//>`;
}
