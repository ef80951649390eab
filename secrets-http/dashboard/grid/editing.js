// Editing of cells: changes that the user may make, and staging them; pasted text and dropped files.

import { useEffect } from "preact/hooks";

import { late, notify } from "../parts/messages.js";
import { words } from "../words.js";
import { markOf } from "./cells.js";
import { inheritorsOf, ownVersion, redo, secretId, stage, undo, unstage } from "./staged.js";

/** @typedef {import("./state.js").GridState} GridState */
/** @typedef {import("./staged.js").Change} Change */

/** Number of characters of a generated value: 190 random bits. */
const GENERATED = 32;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** Returns random letters and digits, each equally likely. */
export function generated() {
  let text = "";
  while (text.length < GENERATED) {
    for (const byte of crypto.getRandomValues(new Uint8Array(GENERATED))) {
      // Bytes beyond the last multiple would make some characters more likely.
      if (byte < 248 && text.length < GENERATED) text += ALPHABET[byte % ALPHABET.length];
    }
  }
  return text;
}

/** True if the caller may change secrets of an environment. @param {{ role: string }} environment */
export const isWritable = ({ role }) => role === "write" || role === "admin";

/** Returns the environments that the caller can compare. @param {GridState} grid */
export const comparable = (grid) => grid.environments.value.filter(({ role }) => role !== "none");

/** True for the name of a production environment. Saving changes to it needs a confirmation. */
export const isProduction = (/** @type {string} */ name) => ["production", "prod", "live"].includes(name.toLowerCase());

/**
 * @typedef {{ key: string, environment: import("./cells.js").Environment, secret: import("./cells.js").Secret | null,
 *   change: Change | undefined, isRemovable: boolean, isHidable: boolean }} Editable
 */

/**
 * Returns a cell (default: the active one), or `null` if the caller may not change it or a rotation writes it.
 * @param {GridState} grid @param {{ row?: import("./cells.js").Row, place: number, environment?: import("./cells.js").Environment }} [cell]
 * @returns {Editable | null}
 */
export function editable(grid, { row, place, environment } = grid.target()) {
  if (!row || !environment || !isWritable(environment)) return null;
  if (markOf(row, place, environment) === "managed") return null;
  const secret = row.cells[place];
  const change = grid.staged.value.changes.get(secretId(environment.id, row.key));
  return {
    key: row.key,
    environment,
    secret,
    change,
    isRemovable: ownVersion(secret) > 0 && change?.action !== "delete",
    isHidable: secret?.state !== "hidden" && change?.action !== "hide",
  };
}

/** Stages changes, as one step. @param {GridState} grid @param {Change[]} changes */
export function stageAll(grid, changes) {
  grid.staged.value = stage(grid.staged.value, changes);
}

/**
 * Returns the selected cells (default: the active one) that the caller may change.
 * @param {GridState} grid
 */
export const editables = (grid) => grid.targets().flatMap((cell) => editable(grid, cell) ?? []);

/**
 * Stages the same change for all selected cells, as one step for undo.
 * @param {GridState} grid @param {"hide" | "delete" | "set"} action
 */
function stageSelected(grid, action) {
  const isOpen = (/** @type {Editable} */ at) => action === "set" || (action === "hide" ? at.isHidable : at.isRemovable);
  const changes = editables(grid).filter(isOpen).map(({ key, environment, secret }) => {
    grid.values.hide(environment.id, key);
    const value = action === "set" ? { value: generated() } : {};
    return { environment: environment.id, key, action, base: ownVersion(secret), ...value };
  });
  stageAll(grid, changes);
}

/** Describes the last staged change, for screen readers. @param {GridState} grid */
export function lastText(grid) {
  const change = [...grid.staged.value.changes.values()].at(-1);
  const name = grid.environments.value.find(({ id }) => id === change?.environment)?.name;
  return change ? `${[change.key, name].filter(Boolean).join(", ")}: ${changeText(grid, change)}. ` : "";
}

/** Describes a staged change in words. @param {GridState} grid @param {Change} change */
export function changeText(grid, change) {
  const { environments, keys } = grid.comparison.value;
  const text = words.edit.change;
  if (change.action === "set") return change.base ? text.set : text.created;
  if (change.action === "copy") return text.copy(environments.find(({ id }) => id === change.from)?.name ?? "");
  if (change.action === "hide") return text.hide;
  if (change.action === "describe") return text.describe;
  const place = environments.findIndex(({ id }) => id === change.environment);
  const from = keys.find(({ key }) => key === change.key)?.cells[place]?.from;
  return from ? text.uncovered(from) : text.delete;
}

/**
 * Describes the effect of a change on the environments that inherit the key.
 * @param {GridState} grid @param {Change} change
 */
export function consequence(grid, change) {
  if (change.action === "describe") return "";
  const inheritors = inheritorsOf(change, grid.comparison.value);
  return inheritors.length ? words.edit.inheritors(inheritors.join(", "), inheritors.length) : "";
}

/** Discards the staged changes of one cell. @param {GridState} grid @param {string[]} ids */
export function giveUp(grid, ids) {
  grid.staged.value = unstage(grid.staged.value, ids);
}

/** Discards all staged changes. This can be undone. @param {GridState} grid */
export function discard(grid) {
  giveUp(grid, [...grid.staged.value.changes.keys()]);
  notify({ text: words.edit.discarded, action: { label: words.edit.undo, run: () => (grid.staged.value = undo(grid.staged.value)) } });
  document.getElementById("grid")?.focus();
}

/**
 * Performs an editing action. Returns false for any other action.
 * @param {GridState} grid @param {string} action
 */
export function edit(grid, action) {
  if (action === "undo") grid.staged.value = undo(grid.staged.value);
  else if (action === "redo") grid.staged.value = redo(grid.staged.value);
  else if (action === "hideHere") stageSelected(grid, "hide");
  else if (action === "delete") stageSelected(grid, "delete");
  else if (action === "generate") stageSelected(grid, "set");
  else if (action === "giveUp") giveUp(grid, grid.targets().map(({ row, environment }) => secretId(environment.id, row.key)));
  else if (action === "copyTo") grid.isCopying.value = grid.targets().length > 0 && grid.environments.value.some(isWritable);
  else if (action === "compare") grid.isComparing.value = comparable(grid).length > 1;
  else if (action === "selectAll" || action === "selectRow" || action === "selectColumn") grid.select(action);
  else if (action === "edit") grid.editing.value = editable(grid);
  else if (action === "add") grid.editing.value = grid.environments.value.some(isWritable) ? "new" : null;
  else if (action === "history") grid.historyOf.value = grid.target().row?.key ?? null;
  else if (action === "review") grid.isReviewing.value = grid.staged.value.changes.size > 0;
  else return false;
  return true;
}

/** Maximum size of a dropped file, in bytes. */
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * `.env` text to import when a project is opened, by the project's slug.
 * @type {Map<string, string>}
 */
export const given = new Map();

/** Reads a dropped file. Returns `null`, with a notice, if the file is too large. @param {File} file */
export async function textOf(file) {
  if (file.size <= MAX_BYTES) return file.text();
  notify({ text: words.large, isBad: true });
  return null;
}

/** True if a dialog is open. Pasted text and dropped files are then ignored. */
export const isBusy = () => document.querySelector("dialog[open]") !== null;

/**
 * Opens a window with the changes that `.env` text would make to the environment at index `place`.
 * @param {GridState} grid @param {number | undefined} place @param {string} text
 */
export async function offer(grid, place, text) {
  (await late(() => import("../windows/paste.js")))?.offer(grid, place, text);
}

/**
 * Returns the index of the environment below the pointer, or else of the active environment.
 * @param {GridState} grid @param {DragEvent} event
 */
function placeBelow(grid, event) {
  const element = event.target instanceof Element ? event.target : null;
  const cell = element?.closest("[aria-colindex]")?.getAttribute("aria-colindex");
  return cell && Number(cell) >= 2 ? Number(cell) - 2 : (grid.target().place ?? grid.columns.value[0]);
}

/** Listens for files dropped on the page. @param {(file: File, event: DragEvent) => void} onFile */
export function useDrop(onFile) {
  useEffect(() => {
    const onDragOver = (/** @type {DragEvent} */ event) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    };
    const onDrop = (/** @type {DragEvent} */ event) => {
      const file = event.dataTransfer?.files[0];
      if (!file) return;
      // Otherwise the browser would open the file instead of this page.
      event.preventDefault();
      if (!isBusy()) onFile(file, event);
    };
    document.addEventListener("dragover", onDragOver);
    document.addEventListener("drop", onDrop);
    return () => {
      document.removeEventListener("dragover", onDragOver);
      document.removeEventListener("drop", onDrop);
    };
  }, []);
}

/** Offers to import pasted text and dropped files. @param {GridState} grid */
export function usePaste(grid) {
  useDrop(async (file, event) => {
    const place = placeBelow(grid, event);
    const text = await textOf(file);
    if (text !== null) await offer(grid, place, text);
  });
  useEffect(() => {
    const onPaste = async (/** @type {ClipboardEvent} */ event) => {
      const text = event.clipboardData?.getData("text/plain") ?? "";
      if (isBusy() || !text.includes("=") || document.activeElement?.matches("input, textarea, select")) return;
      const place = grid.target().place ?? grid.columns.value[0];
      const { isDotenv } = await import("../windows/dotenv.js").catch(() => ({ isDotenv: () => true }));
      if (isDotenv(text)) await offer(grid, place, text);
    };
    document.addEventListener("paste", onPaste);
    return () => document.removeEventListener("paste", onPaste);
  }, []);
}
