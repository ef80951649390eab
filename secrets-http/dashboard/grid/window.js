// Rows of a long list that are rendered. Pure functions.

/** Number of rows rendered above and below the visible ones, in total. */
const OVERSCAN = 12;

/**
 * Returns the index of the first row to render, and the index after the last.
 * @param {{ scrollTop: number, height: number, rowHeight: number, count: number }} view
 */
export function windowOf({ scrollTop, height, rowHeight, count }) {
  const visible = Math.ceil(height / rowHeight) + 1;
  const top = Math.floor(scrollTop / rowHeight) - OVERSCAN / 2;
  const first = Math.max(0, Math.min(top, count - visible - OVERSCAN));
  return { first, last: Math.min(count, first + visible + OVERSCAN) };
}

/**
 * Returns the scroll position nearest to the current one at which a row is visible.
 * @param {{ row: number, scrollTop: number, height: number, rowHeight: number }} view
 */
export function scrolledTo({ row, scrollTop, height, rowHeight }) {
  const top = row * rowHeight;
  if (top < scrollTop) return top;
  return Math.max(scrollTop, top + rowHeight - height);
}
