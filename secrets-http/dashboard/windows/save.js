// Saving all staged changes with one request.

import { api } from "../api.js";
import { isWritable } from "../grid/editing.js";
import { conflictsOf } from "../grid/staged.js";
import { errorText, notify } from "../parts/messages.js";
import { MAX_CHANGES, afterSave, planOf } from "./plan.js";
import { words } from "./words.js";

/** @typedef {import("../grid/state.js").GridState} GridState */
/** @typedef {import("../grid/staged.js").Changes} Changes */

/**
 * Reasons why changes were not saved: `text` for all changes, `rows` for single changes by ID.
 * @typedef {{ text: string, rows: Map<string, string>, requestId?: string | null }} Refusal
 */

/**
 * Forgets the staged changes that were saved, and shows a notice. Changes that were staged meanwhile are kept.
 * @param {GridState} grid @param {Changes} sent @param {ReadonlyMap<string, number>} versions of the secrets, by ID of the change
 * @param {string} [text]
 */
function saved(grid, sent, versions, text = words.review.saved(sent.size)) {
  grid.staged.value = afterSave(grid.staged.value, sent, versions);
  grid.isUncertain.value = false;
  grid.refusal.value = null;
  grid.isReviewing.value = false;
  notify({ text });
}

/**
 * True if the service already has all of these changes. A deletion counts as made if the secret does
 * not exist.
 * @param {GridState} grid @param {Changes} changes @param {ReadonlyMap<string, number>} conflicts
 */
async function isMade(grid, changes, conflicts) {
  const open = new Map([...changes].filter(([id, { action }]) => action !== "delete" || conflicts.get(id) !== 0));
  if ([...open.values()].some(({ action }) => action === "delete")) return false;
  if (!open.size) return true;
  const answer = await api.change(grid.project.slug, planOf(open, { hasVersions: false }), { isDryRun: true });
  return answer.same === open.size;
}

/**
 * Saves the staged changes. If the response to an earlier save was lost, first checks whether the
 * changes were made.
 * @param {GridState} grid @param {(options?: { isQuiet?: boolean, along?: () => void }) => Promise<void>} reload
 */
export async function save(grid, reload) {
  const { changes } = grid.staged.value;
  if (grid.isSaving.value || !changes.size) return;
  if (changes.size > MAX_CHANGES) return void (grid.refusal.value = { text: words.review.tooMany(MAX_CHANGES), rows: new Map() });
  grid.isSaving.value = true;
  grid.refusal.value = null;
  try {
    if (grid.isUncertain.value) {
      await reload({ isQuiet: true });
      const conflicts = conflictsOf(changes, grid.comparison.value);
      if (await isMade(grid, changes, conflicts)) return saved(grid, changes, conflicts);
      if (conflicts.size) return void (grid.isUncertain.value = false);
    }
    const answer = await api.change(grid.project.slug, planOf(changes));
    // The results have the order of the changes. A deleted secret has no version.
    const versions = new Map([...changes.keys()].map((id, place) => [id, answer.changes[place].version ?? 0]));
    let isShown = false;
    // Called in the step that shows the saved state, so that a new key does not disappear briefly.
    const end = () => {
      saved(grid, changes, versions);
      isShown = true;
    };
    await reload({ isQuiet: true, along: end }).catch(() => {});
    if (isShown) return;
    const stale = { text: words.review.stale(changes.size) };
    grid.unshown.value = { stale, saved: { text: words.review.saved(changes.size) } };
    saved(grid, changes, versions, stale.text);
  } catch (error) {
    await refused(grid, changes, /** @type {any} */ (error), reload);
  } finally {
    grid.isSaving.value = false;
  }
}

/**
 * Handles a refused save: loads the current state if necessary, and shows the reasons.
 * @param {GridState} grid @param {Changes} changes @param {any} error @param {(options?: { isQuiet?: boolean }) => Promise<void>} reload
 */
async function refused(grid, changes, error, reload) {
  // After a server error, the changes may have been made as well.
  if (error.status === 0 || error.status >= 500) grid.isUncertain.value = true;
  else if ([400, 403, 409].includes(error.status)) await reload({ isQuiet: true }).catch(() => {});
  const rows = rowsOf(grid, changes, error);
  // Conflicts are shown beside the changes that they concern.
  if (error.status === 409 && grid.conflicts.value.size) return;
  grid.refusal.value = { text: refusalText(error), rows, requestId: error.requestId };
}

/** Returns the reason why no change was saved. @param {any} error */
function refusalText(error) {
  if (error.status === 0) return words.review.lost;
  if (error.code === "plan_limit_exceeded") return words.review.plan;
  if (error.status === 403) return words.review.forbidden;
  return words.review.refused(errorText(error));
}

/**
 * Returns the reasons by the ID of the change that they concern.
 * @param {GridState} grid @param {Changes} changes @param {any} error @returns {Map<string, string>}
 */
function rowsOf(grid, changes, error) {
  const { environments } = grid.comparison.value;
  const all = [...changes];
  if (error.code === "plan_limit_exceeded") {
    return new Map(all.filter(([, { action, base }]) => base === 0 && action !== "describe").map(([id]) => [id, words.review.planRow]));
  }
  if (error.status === 403) {
    const isOpen = new Map(environments.map((environment) => [environment.id, isWritable(environment)]));
    return new Map(all.filter(([, { environment }]) => !isOpen.get(environment)).map(([id]) => [id, words.review.forbiddenRow]));
  }
  const fields = /** @type {any[]} */ (error.details?.fields ?? []);
  return new Map(fields.flatMap(({ index, error: rule, message }) => (all[index] ? [[all[index][0], rule ?? message ?? error.message]] : [])));
}
