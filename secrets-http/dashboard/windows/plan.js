// Conversion of staged changes to the body of the request that saves them, and the changes that stay staged after it. Pure functions.

import { NOTHING_STAGED, step, unstage } from "../grid/staged.js";

/** @typedef {import("../grid/staged.js").Staged} Staged */
/** @typedef {import("../grid/staged.js").Changes} Changes */

/** Maximum number of changes that the service saves at once. */
export const MAX_CHANGES = 1_000;

/**
 * Bases a change on the version `version`, so that saving it overwrites another user's change.
 * @param {Staged} staged @param {string} id @param {number} version
 * @returns {Staged}
 */
export function rebase(staged, id, version) {
  const change = staged.changes.get(id);
  if (!change) return staged;
  // A secret that no longer exists can neither be deleted nor described.
  if (version === 0 && (change.action === "delete" || change.action === "describe")) return unstage(staged, [id]);
  return step(staged, new Map(staged.changes).set(id, { ...change, base: version }));
}

/**
 * Returns the changes that were staged while `sent` was saved, based on the saved versions. Forgets all steps, because
 * they contain values, and undoing one would not revert saved changes.
 * @param {Staged} staged @param {Changes} sent @param {ReadonlyMap<string, number>} versions by ID of the change
 * @returns {Staged}
 */
export function afterSave(staged, sent, versions) {
  const made = [...sent].filter(([id, change]) => staged.changes.get(id) === change);
  let left = unstage(staged, made.map(([id]) => id));
  for (const [id, version] of versions) if (sent.has(id)) left = rebase(left, id, version);
  return { ...NOTHING_STAGED, changes: left.changes };
}

/**
 * Returns the changes in the form that `POST …/changes` takes.
 * @param {Changes} changes
 * @param {{ hasVersions?: boolean }} [options] without versions for a dry run, to check if all changes are made
 */
export function planOf(changes, { hasVersions = true } = {}) {
  return [...changes.values()].map(({ base, ...change }) =>
    hasVersions ? { ...change, expected_version: base } : change,
  );
}
