// Saving all staged changes with one request.

import { api } from "../api.js";
import { isWritable } from "../grid/editing.js";
import { MAX_CHANGES, NOTHING_STAGED, planOf } from "../grid/staged.js";
import { errorText, notify } from "../parts/messages.js";
import { words } from "./words.js";

/** @typedef {import("../grid/state.js").GridState} GridState */

/**
 * Reasons why changes were not saved: `text` for all changes, `rows` for single changes by ID.
 * @typedef {{ text: string, rows: Map<string, string>, requestId?: string | null }} Refusal
 */

/**
 * Forgets the staged changes after they were saved, and shows a notice.
 * @param {GridState} grid @param {string} [text]
 */
function saved(grid, text = words.review.saved(grid.staged.value.changes.size)) {
  // The undo history contains values, and undoing a step would not revert saved changes.
  grid.staged.value = NOTHING_STAGED;
  grid.isUncertain.value = false;
  grid.refusal.value = null;
  grid.isReviewing.value = false;
  notify({ text });
}

/**
 * True if the service already has all staged changes. A deletion counts as made if the secret does
 * not exist.
 * @param {GridState} grid
 */
async function isMade(grid) {
  const conflicts = grid.conflicts.value;
  const all = grid.staged.value.changes;
  const open = new Map([...all].filter(([id, { action }]) => action !== "delete" || conflicts.get(id) !== 0));
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
      if (await isMade(grid)) return saved(grid);
      if (grid.conflicts.value.size) return void (grid.isUncertain.value = false);
    }
    await api.change(grid.project.slug, planOf(changes));
    let isShown = false;
    // Called in the step that shows the saved state, so that a new key does not disappear briefly.
    const end = () => {
      saved(grid);
      isShown = true;
    };
    await reload({ isQuiet: true, along: end }).catch(() => {});
    if (isShown) return;
    const stale = { text: words.review.stale(changes.size) };
    grid.unshown.value = { stale, saved: { text: words.review.saved(changes.size) } };
    saved(grid, stale.text);
  } catch (error) {
    await refused(grid, /** @type {any} */ (error), reload);
  } finally {
    grid.isSaving.value = false;
  }
}

/**
 * Handles a refused save: loads the current state if necessary, and shows the reasons.
 * @param {GridState} grid @param {any} error @param {(options?: { isQuiet?: boolean }) => Promise<void>} reload
 */
async function refused(grid, error, reload) {
  // After a server error, the changes may have been made as well.
  if (error.status === 0 || error.status >= 500) grid.isUncertain.value = true;
  else if (error.status === 409 || error.status === 403) await reload({ isQuiet: true }).catch(() => {});
  const rows = rowsOf(grid, error);
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
 * @param {GridState} grid @param {any} error @returns {Map<string, string>}
 */
function rowsOf(grid, error) {
  const { environments } = grid.comparison.value;
  const all = [...grid.staged.value.changes];
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
