// Cells of the grid: marks (state icons), words and filters; selection, keyboard, and rows to render. Pure functions.

import { words } from "../words.js";

/**
 * @typedef {{ state: string, from?: string, version: number, description?: string, rotation?: string,
 *   restricted?: boolean, group?: number, updated_at: string }} Secret
 * @typedef {{ id: string, name: string, inherits_from?: string, order: number, role: string, missing?: number }} Environment
 * @typedef {{ key: string, cells: (Secret | null)[] }} Row
 * @typedef {{ revision: string, environments: Environment[], keys: Row[] }} Comparison
 * @typedef {"own" | "override" | "inherited" | "hidden" | "inheritedHidden" | "managed" | "missing" | "absent" | "noAccess"} Mark
 */

/** @param {Secret | null} secret */
export const hasValue = (secret) => secret !== null && !["hidden", "inherited_hidden"].includes(secret.state);

/**
 * Returns the mark of a cell: the state of its secret.
 * @param {Row} row @param {number} column @param {Environment} environment
 * @returns {Mark}
 */
export function markOf(row, column, environment) {
  const secret = row.cells[column];
  if (environment.role === "none") return "noAccess";
  if (!secret) return row.cells.some(hasValue) ? "missing" : "absent";
  if (secret.state === "hidden") return "hidden";
  if (secret.state === "inherited_hidden") return "inheritedHidden";
  if (secret.state === "inherited") return "inherited";
  if (secret.rotation) return "managed";
  return secret.state === "override" ? "override" : "own";
}

/**
 * Returns the short text beside the mark, such as a version.
 * @param {Mark} mark @param {Secret | null} secret
 */
export function shortText(mark, secret) {
  if (mark === "inherited") return secret?.from ?? "";
  if (mark === "inheritedHidden") return words.cell.inheritedHidden(secret?.from ?? "");
  if (mark === "hidden") return words.cell.hiddenShort;
  if (mark === "missing" || mark === "noAccess") return words.cell[mark];
  return secret ? `v${secret.version}` : "";
}

/**
 * Describes a cell in words, for screen readers.
 * @param {Row} row @param {number} column @param {Environment[]} environments
 */
export function spoken(row, column, environments) {
  const secret = row.cells[column];
  const mark = markOf(row, column, environments[column]);
  const parts = [meaning(mark, secret)];
  if (secret?.restricted) parts.push(words.cell.restricted);
  const equal = equals(row, column, environments);
  if (equal.length) parts.push(words.cell.equal(equal.join(", ")));
  return parts.join(", ");
}

/** Describes a mark in words. @param {Mark} mark @param {Secret | null} secret */
function meaning(mark, secret) {
  const text = words.cell;
  if (!secret) return mark === "noAccess" ? text.noAccess : mark === "missing" ? text.missing : text.absent;
  const { version, from = "", rotation = "" } = secret;
  if (mark === "managed") return text.managed(rotation, version);
  if (mark === "override") return text.override(from, version);
  if (mark === "inherited") return text.inherited(from);
  if (mark === "hidden") return text.hidden(secret.from);
  if (mark === "inheritedHidden") return text.inheritedHidden(from);
  return text.own(version);
}

/**
 * Names the other environments with the same value. Empty if equal values were not requested.
 * @param {Row} row @param {number} column @param {Environment[]} environments
 */
export function equals(row, column, environments) {
  const group = row.cells[column]?.group;
  if (group === undefined) return [];
  return environments.filter((_, other) => other !== column && row.cells[other]?.group === group).map(({ name }) => name);
}

/** True if the caller can read the value of a cell. @param {Mark} mark @param {Secret | null} secret */
export const isReadable = (mark, secret) => hasValue(secret) && !secret?.restricted && mark !== "noAccess";

/** @typedef {"missing" | "override" | "hidden" | "managed" | "recent"} Show */

/** Filters of the rows. @type {readonly Show[]} */
export const SHOWS = ["missing", "override", "hidden", "managed", "recent"];

const RECENT = 7 * 24 * 3_600_000;

/**
 * True if a row has a cell that the filter `show` selects.
 * @param {Row} row @param {Show} show @param {Environment[]} environments
 */
export function isShown(row, show, environments, now = Date.now()) {
  return environments.some((environment, column) => {
    const mark = markOf(row, column, environment);
    if (show === "recent") return now - Date.parse(row.cells[column]?.updated_at ?? "") < RECENT;
    if (show === "hidden") return mark === "hidden" || mark === "inheritedHidden";
    return mark === show;
  });
}

/**
 * Returns the rows whose key or description contains the text, and that a filter (if any) selects.
 * @param {Comparison} comparison @param {string} text @param {ReadonlySet<Show>} shows
 */
export function filtered({ keys, environments }, text, shows) {
  const wanted = text.trim().toLowerCase();
  return keys.filter((row) => {
    const isNamed = !wanted || row.key.toLowerCase().includes(wanted) || description(row).toLowerCase().includes(wanted);
    return isNamed && (!shows.size || [...shows].some((show) => isShown(row, show, environments)));
  });
}

/** Returns the first description of a secret in a row. @param {Row} row */
export const description = (row) => row.cells.find((cell) => cell?.description)?.description ?? "";

/**
 * Lists the cells whose secret differs between two comparisons, as environment and key.
 * @param {Comparison} before @param {Comparison} after
 */
export function changedCells(before, after) {
  const old = new Map(before.keys.map((row) => [row.key, row]));
  const places = new Map(before.environments.map(({ id }, place) => [id, place]));
  return after.environments.flatMap((environment, column) => {
    const place = places.get(environment.id);
    if (place === undefined) return [];
    const all = new Set([...after.keys.map(({ key }) => key), ...old.keys()]);
    const now = new Map(after.keys.map((row) => [row.key, row.cells[column]]));
    return [...all]
      .filter((key) => identity(old.get(key)?.cells[place]) !== identity(now.get(key)))
      .map((key) => ({ environment, key }));
  });
}

/** Text that differs if a secret differs. @param {Secret | null | undefined} secret */
export const identity = (secret) => (secret ? `${secret.state} ${secret.from} ${secret.version} ${secret.updated_at}` : "");

/**
 * @typedef {{ key: string, column: number }} CellPlace
 * @typedef {{ from: CellPlace, to: CellPlace }} Range opposite corners
 * @typedef {{ top: number, bottom: number, left: number, right: number }} Rectangle rows and columns of environments, inclusive
 */

/**
 * Returns the rows and columns of a range, or `null` if the filter hides a corner. A range that includes the
 * column of keys includes all environments.
 * @param {Range | null} range @param {ReadonlyMap<string, number>} places numbers of the rows, by key @param {number} columns number of environments
 * @returns {Rectangle | null}
 */
export function rectangleOf(range, places, columns) {
  const [first, second] = [range?.from, range?.to].map((corner) => places.get(corner?.key ?? ""));
  if (!range || first === undefined || second === undefined) return null;
  const isWhole = range.from.column === 0 || range.to.column === 0;
  return {
    top: Math.min(first, second),
    bottom: Math.max(first, second),
    left: isWhole ? 1 : Math.min(range.from.column, range.to.column, columns),
    right: isWhole ? columns : Math.min(Math.max(range.from.column, range.to.column), columns),
  };
}

/** Number of cells in a rectangle. @param {Rectangle | null} rectangle */
export const sizeOf = (rectangle) =>
  rectangle ? (rectangle.bottom - rectangle.top + 1) * (rectangle.right - rectangle.left + 1) : 0;

/** @param {Rectangle | null} rectangle @param {number | undefined} row @param {number} column */
export const contains = (rectangle, row, column) =>
  rectangle !== null && row !== undefined && row >= rectangle.top && row <= rectangle.bottom && column >= rectangle.left && column <= rectangle.right;

/**
 * @typedef {{ key: string, ctrlKey: boolean, metaKey: boolean, altKey: boolean, shiftKey: boolean }} Key
 * @typedef {{ row: number, column: number }} Place
 * @typedef {{ rows: number, columns: number, page: number }} Size
 */

/**
 * Returns the cell to which a key press moves, or `null` for other keys. With Shift, it extends the selection.
 * @param {Key} event @param {Place} from @param {Size} size
 * @returns {Place | null}
 */
export function moved(event, { row, column }, { rows, columns, page }) {
  if (event.altKey || event.metaKey) return null;
  const places = event.ctrlKey
    ? { Home: [0, 0], End: [rows - 1, columns - 1] }
    : {
        ArrowUp: [row - 1, column],
        ArrowDown: [row + 1, column],
        ArrowLeft: [row, column - 1],
        ArrowRight: [row, column + 1],
        Home: [row, 0],
        End: [row, columns - 1],
        PageUp: [row - page, column],
        PageDown: [row + page, column],
      };
  const to = new Map(Object.entries(places)).get(event.key);
  if (!to) return null;
  const within = (/** @type {number} */ number, /** @type {number} */ count) => Math.max(0, Math.min(count - 1, number));
  return { row: within(to[0], rows), column: within(to[1], columns) };
}

/**
 * @typedef {"reveal" | "hide" | "revealColumn" | "copy" | "filter" | "legend" | "edit" | "add" | "hideHere" | "delete" |
 *   "giveUp" | "undo" | "redo" | "review" | "history" | "generate" | "copyTo" | "compare" | "selectAll" | "selectRow" | "selectColumn"} Action
 */

/** Actions of single characters. @type {Record<string, Action>} */
const LETTERS = { G: "generate", p: "copyTo", d: "compare", c: "copy", e: "edit", n: "add", h: "history", x: "hideHere", "/": "filter", "?": "legend", R: "revealColumn" };

/**
 * Returns the action of a key press, or `null`.
 * @param {Key} event @param {boolean} hasLetters
 * @returns {Action | null}
 */
export function actionOf(event, hasLetters) {
  if ((event.ctrlKey || event.metaKey) && !event.altKey) {
    if (event.key.toLowerCase() === "z") return event.shiftKey ? "redo" : "undo";
    if (event.shiftKey) return null;
    if (event.key === " ") return "selectColumn";
    return { s: /** @type {const} */ ("review"), a: /** @type {const} */ ("selectAll") }[event.key.toLowerCase()] ?? null;
  }
  if (event.altKey) return null;
  if (event.key === "Enter") return "reveal";
  if (event.key === "F2") return "edit";
  if (event.key === " ") return "selectRow";
  if (event.key === "Delete") return "delete";
  if (event.key === "Escape") return "hide";
  return hasLetters ? (LETTERS[event.key] ?? null) : null;
}

/** Number of rows rendered above and below the visible ones, in total. */
const OVERSCAN = 12;

/**
 * Returns the index of the first row to render, and the index after the last.
 * @param {{ scrollTop: number, height: number, rowHeight: number, count: number }} view
 */
export function windowOf({ scrollTop, height, rowHeight, count }) {
  const visible = Math.ceil(height / rowHeight) + 1;
  const top = Math.floor(scrollTop / rowHeight) - OVERSCAN / 2;
  const first = Math.max(0, Math.min(top, count - visible - OVERSCAN));
  return { first, last: Math.min(count, first + visible + OVERSCAN) };
}
