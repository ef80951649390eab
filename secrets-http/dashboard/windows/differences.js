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

/** @typedef {{ text: string, isDifferent: boolean }} Line line of a value; `isDifferent` if the other value does not have it */

/** Maximum number of pairs of lines that are compared with each other. */
const MAX_PAIRS = 1_000_000;

/**
 * Returns the indexes of the lines of each side that are not in their longest common subsequence.
 * @param {string[]} one @param {string[]} other @returns {[number[], number[]]}
 */
function uncommon(one, other) {
  if (one.length * other.length > MAX_PAIRS) return [[...one.keys()], [...other.keys()]];
  const width = other.length + 1;
  // Lengths of the longest common subsequences of the lines from two places on.
  const lengths = new Uint32Array((one.length + 1) * width);
  for (let left = one.length - 1; left >= 0; left--) {
    for (let right = other.length - 1; right >= 0; right--) {
      const place = left * width + right;
      lengths[place] = one[left] === other[right] ? lengths[place + width + 1] + 1 : Math.max(lengths[place + width], lengths[place + 1]);
    }
  }
  /** @type {[number[], number[]]} */
  const found = [[], []];
  let [left, right] = [0, 0];
  while (left < one.length || right < other.length) {
    const place = left * width + right;
    if (left < one.length && one[left] === other[right]) [left, right] = [left + 1, right + 1];
    else if (right === other.length || (left < one.length && lengths[place + width] >= lengths[place + 1])) found[0].push(left++);
    else found[1].push(right++);
  }
  return found;
}

/**
 * Splits two values into lines, and marks those that only one of them has at this place. In long values, all lines between
 * the common beginning and the common end are marked. Returns nothing unless both values are given.
 * @param {(string | undefined)[]} values
 * @returns {Line[][]}
 */
export function lineDifferences([value, other]) {
  if (value === undefined || other === undefined) return [];
  const sides = [value.split("\n"), other.split("\n")];
  const [one, two] = sides;
  const most = Math.min(one.length, two.length);
  let start = 0;
  while (start < most && one[start] === two[start]) start += 1;
  let end = 0;
  while (end < most - start && one[one.length - 1 - end] === two[two.length - 1 - end]) end += 1;
  const found = uncommon(one.slice(start, one.length - end), two.slice(start, two.length - end));
  return sides.map((lines, side) => {
    const marked = new Set(found[side].map((place) => start + place));
    return lines.map((text, place) => ({ text, isDifferent: marked.has(place) }));
  });
}
