// Cells of the grid: their marks (state icons), words and filters. Pure functions.

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
  if (mark === "missing" || mark === "hidden" || mark === "noAccess") return words.cell.word[mark];
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
const identity = (secret) => (secret ? `${secret.state} ${secret.from} ${secret.version} ${secret.updated_at}` : "");
