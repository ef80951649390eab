// Differences between two environments: the keys by group, and how their values compare. Pure functions.

import { hasValue, identity, isReadable, markOf } from "../grid/cells.js";

/** @typedef {import("../grid/cells.js").Comparison} Comparison */
/** @typedef {import("../grid/cells.js").Secret} Secret */
/** @typedef {"onlySource" | "different" | "unknown" | "onlyTarget" | "equal"} Kind */

/** Groups of keys, in the order in which they are shown. @type {readonly Kind[]} */
export const KINDS = ["onlySource", "different", "unknown", "onlyTarget", "equal"];

/**
 * @typedef {{ row: import("../grid/cells.js").Row, kind: Kind, canCopy: boolean }} Difference `canCopy` is true if the
 *   value of the source can be copied to the target
 */

/**
 * Returns the cells of two environments by key.
 * @param {Comparison} comparison @param {string[]} ids IDs of the environments
 * @returns {Map<string, (Secret | null)[]>}
 */
function cellsOf({ environments, keys }, ids) {
  const places = ids.map((id) => environments.findIndex((environment) => environment.id === id));
  return new Map(places.includes(-1) ? [] : keys.map(({ key, cells }) => [key, places.map((place) => cells[place])]));
}

/**
 * Compares the values of two secrets by their groups.
 * @param {Secret[]} secrets @param {(Secret | null)[]} compared the same secrets in the response with groups of equal
 *   values; empty if there is none
 * @returns {Kind}
 */
function kindOfValues(secrets, compared) {
  // The number of a group is valid only within its response.
  const isMarked = secrets.every(({ group }) => group !== undefined);
  const isSame = secrets.every((secret, side) => identity(secret) === identity(compared[side]));
  const [one, other] = isMarked ? secrets : isSame ? compared : [];
  if (one?.group === undefined || other?.group === undefined) return "unknown";
  return one.group === other.group ? "equal" : "different";
}

/**
 * Lists the keys that have a value in at least one of two environments.
 * @param {Comparison} comparison @param {string} source ID of the environment from which values are copied
 * @param {string} target ID of the environment to which values are copied
 * @param {Comparison | null} compared response of the service with groups of equal values, if they were requested
 * @returns {Difference[]}
 */
export function differences(comparison, source, target, compared) {
  const { environments, keys } = comparison;
  const places = [source, target].map((id) => environments.findIndex((environment) => environment.id === id));
  const [from, to] = places.map((place) => environments[place]);
  const groups = compared ? cellsOf(compared, [source, target]) : new Map();
  // Name of the environment that holds the secret. Both environments can inherit the same secret.
  const holder = (/** @type {Secret} */ secret, /** @type {{ name: string }} */ { name }) => (secret.state === "inherited" ? secret.from : name);
  return keys.flatMap((row) => {
    const [one, other] = places.map((place) => row.cells[place]);
    if (!hasValue(one) && !hasValue(other)) return [];
    /** @type {Kind} */
    let kind = hasValue(one) ? "onlySource" : "onlyTarget";
    if (one && other && hasValue(one) && hasValue(other)) {
      kind = holder(one, from) === holder(other, to) ? "equal" : kindOfValues([one, other], groups.get(row.key) ?? []);
    }
    const isFixed = kind === "equal" || markOf(row, places[1], to) === "managed";
    return [{ row, kind, canCopy: !isFixed && isReadable(markOf(row, places[0], from), one) }];
  });
}
