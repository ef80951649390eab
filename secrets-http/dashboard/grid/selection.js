// Selection of several cells: a rectangle between two cells. Pure functions.

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
