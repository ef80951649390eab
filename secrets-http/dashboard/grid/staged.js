// Staged changes: changes that are not saved yet and exist only in this page. Pure functions.

/**
 * @typedef {{ environment: string, key: string, action: "set" | "copy" | "hide" | "delete" | "describe", base: number,
 *   value?: string, from?: string, description?: string }} Change `environment` and `from` are IDs; `base` is the
 *   version of the environment's own secret on which the change is based, and 0 if there is none
 * @typedef {ReadonlyMap<string, Change>} Changes
 * @typedef {{ changes: Changes, past: Changes[], future: Changes[] }} Staged
 */

/** Maximum number of steps that can be undone. */
const MAX_STEPS = 100;

/** @type {Staged} */
export const NOTHING_STAGED = { changes: new Map(), past: [], future: [] };

/** ID of a cell's secret, also of its staged change. @param {string} environment @param {string} key */
export const secretId = (environment, key) => `${environment}/${key}`;

/**
 * Version of the environment's own secret; 0 if there is none.
 * @param {{ state: string, version: number } | null | undefined} secret
 */
export const ownVersion = (secret) =>
  secret && ["own", "override", "hidden"].includes(secret.state) ? secret.version : 0;

/** True if a change hides or deletes its secret. @param {Change | undefined} change */
export const isRemoval = (change) => change?.action === "hide" || change?.action === "delete";

/** Adds a step for undo. @param {Staged} staged @param {Changes} changes @returns {Staged} */
export const step = (staged, changes) => ({ changes, past: [...staged.past, staged.changes].slice(-MAX_STEPS), future: [] });

/**
 * Combines a change with the staged change of the same cell. A new description and a new value are both kept, but
 * a removed secret gets no description.
 * @param {Change | undefined} before @param {Change} next
 * @returns {Change | null} `null` if nothing remains to be changed
 */
function combined(before, next) {
  // The version of the first change stays: a later change by another user is then a conflict.
  const base = before ? before.base : next.base;
  if (next.action === "delete" && base === 0) return null;
  if (next.action === "describe" && before && before.action !== "describe") {
    return isRemoval(before) ? before : { ...before, description: next.description };
  }
  const takesDescription = next.action === "set" || next.action === "copy";
  const description = next.description ?? (takesDescription ? before?.description : undefined);
  return description === undefined ? { ...next, base } : { ...next, base, description };
}

/**
 * Stages changes, as one step that can be undone.
 * @param {Staged} staged @param {Change[]} changes
 * @returns {Staged}
 */
export function stage(staged, changes) {
  if (!changes.length) return staged;
  const all = new Map(staged.changes);
  for (const change of changes) {
    const id = secretId(change.environment, change.key);
    const next = combined(all.get(id), change);
    if (next) all.set(id, next);
    else all.delete(id);
  }
  return step(staged, all);
}

/**
 * Discards staged changes, as one step that can be undone.
 * @param {Staged} staged @param {string[]} ids
 * @returns {Staged}
 */
export function unstage(staged, ids) {
  const all = new Map(staged.changes);
  const removed = ids.filter((id) => all.delete(id));
  return removed.length ? step(staged, all) : staged;
}

/** @param {Staged} staged @returns {Staged} */
export function undo({ changes, past, future }) {
  const before = past.at(-1);
  return before ? { changes: before, past: past.slice(0, -1), future: [...future, changes] } : { changes, past, future };
}

/** @param {Staged} staged @returns {Staged} */
export function redo({ changes, past, future }) {
  const after = future.at(-1);
  return after ? { changes: after, past: [...past, changes], future: future.slice(0, -1) } : { changes, past, future };
}

/**
 * Returns the IDs of changes whose secret has another version now, with this version. Leaves out changes in
 * deleted environments.
 * @param {Changes} changes
 * @param {import("./cells.js").Comparison} comparison
 * @returns {Map<string, number>}
 */
export function conflictsOf(changes, { environments, keys }) {
  const conflicts = new Map();
  if (!changes.size) return conflicts;
  const places = new Map(environments.map(({ id }, place) => [id, place]));
  const rows = new Map(keys.map((row) => [row.key, row]));
  for (const [id, { environment, key, base }] of changes) {
    const place = places.get(environment);
    if (place === undefined) continue;
    const version = ownVersion(rows.get(key)?.cells[place]);
    if (version !== base) conflicts.set(id, version);
  }
  return conflicts;
}

/**
 * Returns the comparison with a row for each key that exists only in a staged change.
 * @param {import("./cells.js").Comparison} comparison @param {Changes} changes
 * @returns {import("./cells.js").Comparison}
 */
export function withNewKeys(comparison, changes) {
  if (!changes.size) return comparison;
  const known = new Set(comparison.keys.map(({ key }) => key));
  const added = [...new Set([...changes.values()].map(({ key }) => key))].filter((key) => !known.has(key));
  if (!added.length) return comparison;
  const cells = comparison.environments.map(() => null);
  const keys = [...comparison.keys, ...added.map((key) => ({ key, cells }))];
  return { ...comparison, keys: keys.sort((one, other) => (one.key < other.key ? -1 : 1)) };
}

/**
 * Names the environments that inherit the key from the changed environment.
 * @param {Change} change @param {import("./cells.js").Comparison} comparison
 */
export function inheritorsOf({ environment, key }, { environments, keys }) {
  const row = keys.find((row) => row.key === key);
  const isOwn = (/** @type {number} */ place) => ownVersion(row?.cells[place]) > 0;
  const names = /** @type {string[]} */ ([]);
  const visit = (/** @type {string} */ parent) =>
    environments.forEach(({ id, name, inherits_from }, place) => {
      if (inherits_from !== parent || isOwn(place)) return;
      names.push(name);
      visit(id);
    });
  visit(environment);
  return names;
}
