// Keyboard of the grid: the move or action of each key. Pure functions.

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
  const to = (/** @type {number} */ row, /** @type {number} */ column) => ({
    row: Math.max(0, Math.min(rows - 1, row)),
    column: Math.max(0, Math.min(columns - 1, column)),
  });
  if (event.ctrlKey) {
    if (event.key === "Home") return to(0, 0);
    if (event.key === "End") return to(rows - 1, columns - 1);
    return null;
  }
  switch (event.key) {
    case "ArrowUp":
      return to(row - 1, column);
    case "ArrowDown":
      return to(row + 1, column);
    case "ArrowLeft":
      return to(row, column - 1);
    case "ArrowRight":
      return to(row, column + 1);
    case "Home":
      return to(row, 0);
    case "End":
      return to(row, columns - 1);
    case "PageUp":
      return to(row - page, column);
    case "PageDown":
      return to(row + page, column);
    default:
      return null;
  }
}

/**
 * @typedef {"reveal" | "hide" | "revealColumn" | "copy" | "filter" | "legend" | "edit" | "add" | "hideHere" | "delete" |
 *   "giveUp" | "undo" | "redo" | "review" | "history" | "generate" | "copyTo" | "selectAll" | "selectRow" | "selectColumn"} Action
 */

/** Actions of single characters. @type {Record<string, Action>} */
const LETTERS = { G: "generate", p: "copyTo", c: "copy", e: "edit", n: "add", h: "history", x: "hideHere", "/": "filter", "?": "legend", R: "revealColumn" };

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
