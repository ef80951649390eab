// State of a grid: comparison of environments, filters, active cell, staged changes.

import { computed, signal } from "@preact/signals";

import { isNarrow } from "../parts/browser.js";
import { parameter, setParameters } from "../routes.js";
import { SHOWS, contains, filtered, isShown, rectangleOf, sizeOf } from "./cells.js";
import { NOTHING_STAGED, conflictsOf, withNewKeys } from "./staged.js";

/** @typedef {import("./cells.js").Comparison} Comparison */
/** @typedef {import("./cells.js").Show} Show */
/** @typedef {import("../parts/messages.js").Notice} Notice */

/** @type {Comparison} */
const NOTHING = { revision: "", environments: [], keys: [] };

export class GridState {
  /** @param {{ name: string, slug: string }} project @param {import("./values.js").Values} values */
  constructor(project, values) {
    this.project = project;
    this.values = values;
  }

  comparison = signal(NOTHING);
  text = signal(parameter("q"));
  shows = signal(/** @type {ReadonlySet<Show>} */ (new Set(SHOWS.filter((show) => parameter("show").split(",").includes(show)))));
  isEqual = signal(false);
  isLegendOpen = signal(false);
  /** Index of the environment for which the user is asked whether to reveal all values. */
  asked = signal(/** @type {number | null} */ (null));
  /** Index of the only environment that a narrow window shows. */
  narrow = signal(0);
  /** Active cell: its key, and the number of its visible column (0 for the column of keys). */
  active = signal(/** @type {{ key: string, column: number }} */ ({ key: "", column: 1 }));
  /** True if the active cell must be scrolled into view once it is shown. */
  isMoving = false;
  /** Corners of the selected cells; `null` for no selection. */
  range = signal(/** @type {import("./cells.js").Range | null} */ (null));
  /** True while the user chooses the environment to copy the selected values to. */
  isCopying = signal(false);
  /** True while the window that compares two environments is open. */
  isComparing = signal(false);
  /** Cells marked because another user has just changed them. */
  flashes = signal(/** @type {ReadonlySet<string>} */ (new Set()));
  /** True if the text of the active value must be selected once it is shown. */
  isSelecting = signal(false);

  /** Changes that are not saved yet, with the steps for undo and redo. */
  staged = signal(NOTHING_STAGED);
  isReviewing = signal(false);
  isSaving = signal(false);
  /** True if the response to a save was lost, so that the changes may have been made. */
  isUncertain = signal(false);
  /**
   * Notices about a save whose result the page does not show yet, because loading the comparison has failed: while this
   * is so (`stale`), and once the comparison is loaded (`saved`).
   */
  unshown = signal(/** @type {{ stale: Notice, saved: Notice } | null} */ (null));
  refusal = signal(/** @type {import("../windows/save.js").Refusal | null} */ (null));
  /** Cell in the editor window, or `new` for a new key. */
  editing = signal(/** @type {import("./editing.js").Editable | "new" | null} */ (null));
  /** Changes that pasted text or a dropped file would make. */
  pasted = signal(/** @type {ReturnType<typeof import("../windows/paste.js").planOfText> | null} */ (null));
  /** Key whose history window is open. */
  historyOf = signal(/** @type {string | null} */ (null));

  /** True if a window is open over the grid. */
  isWindowOpen = computed(
    () =>
      [this.isLegendOpen, this.isReviewing, this.isCopying, this.isComparing].some(({ value }) => value) || this.asked.value !== null ||
      [this.editing, this.pasted, this.historyOf].some(({ value }) => value !== null),
  );

  closeWindows() {
    [this.isLegendOpen, this.isReviewing, this.isCopying, this.isComparing].forEach((open) => (open.value = false));
    [this.asked, this.editing, this.pasted, this.historyOf].forEach((open) => (open.value = null));
  }

  /** Comparison, with rows for keys that exist only in staged changes. */
  merged = computed(() => withNewKeys(this.comparison.value, this.staged.value.changes));
  conflicts = computed(() => conflictsOf(this.staged.value.changes, this.comparison.value));
  environments = computed(() => this.comparison.value.environments);
  rows = computed(() => filtered(this.merged.value, this.text.value, this.shows.value));
  places = computed(() => new Map(this.rows.value.map((row, place) => [row.key, place])));

  /** Indexes of the environments that are visible. */
  columns = computed(() => {
    const all = this.environments.value.map((_, place) => place);
    return isNarrow.value ? all.slice(this.narrow.value, this.narrow.value + 1) : all;
  });

  /** Number of rows that each filter selects. */
  counts = computed(() => {
    const { keys, environments } = this.comparison.value;
    return SHOWS.map((show) => keys.filter((row) => isShown(row, show, environments)).length);
  });

  /** Row and column of the active cell; row 0 if the filter hides its key. */
  place = computed(() => {
    const { key, column } = this.active.value;
    return { row: this.places.value.get(key) ?? 0, column: Math.min(column, this.columns.value.length) };
  });

  /** ID of the active cell's element. */
  activeId = computed(() => cellId(this.place.value.row, this.place.value.column));

  /** Rows and columns of the selected cells. */
  selection = computed(() => rectangleOf(this.range.value, this.places.value, this.columns.value.length));

  /** True if several cells are selected. */
  isSeveral = computed(() => sizeOf(this.selection.value) > 1);

  /**
   * Moves to a cell. Ends the selection, or extends it to the cell.
   * @param {number} row @param {number} column @param {boolean} [isExtending]
   */
  moveTo(row, column, isExtending = false) {
    const key = this.rows.value[row]?.key;
    if (key === undefined) return;
    const { from, to } = this.range.value ?? {};
    const active = this.activePlace();
    // The other corner stays, if the active cell is one of them.
    const other = from && to?.key === active.key && to.column === active.column ? from : active;
    this.range.value = isExtending ? { from: other, to: { key, column } } : null;
    this.active.value = { key, column };
  }

  /** Selects all cells, or the cells of the active row or column. @param {"selectAll" | "selectRow" | "selectColumn"} action */
  select(action) {
    const { key, column } = this.activePlace();
    const rows = this.rows.value;
    const [first, last] = action === "selectRow" ? [key, key] : [rows[0]?.key ?? "", rows.at(-1)?.key ?? ""];
    const of = action === "selectColumn" ? column : 0;
    this.range.value = { from: { key: first, column: of }, to: { key: last, column: of } };
  }

  /** Returns key and column of the active cell; the first key if the filter hides its key. */
  activePlace() {
    const { row, column } = this.place.value;
    return { key: this.rows.value[row]?.key ?? "", column };
  }

  /** Returns the selected cells, or the active cell, except cells of the column of keys. */
  targets() {
    const { top, bottom, left, right } = this.selection.value ?? {};
    const { row, place, environment } = this.target();
    if (top === undefined || bottom === undefined) return row && environment ? [{ row, place, environment }] : [];
    const places = this.columns.value.slice((left ?? 1) - 1, right);
    const rows = this.rows.value.slice(top, bottom + 1);
    return rows.flatMap((row) => places.map((place) => ({ row, place, environment: this.environments.value[place] })));
  }

  /** True if the cell is selected. @param {string} key @param {number} column */
  isSelected(key, column) {
    return contains(this.selection.value, this.places.value.get(key), column);
  }

  /** Returns row and environment of the active cell; no environment for the column of keys. */
  target() {
    const { row, column } = this.place.value;
    const place = this.columns.value[column - 1];
    return { row: this.rows.value[row], place, environment: this.environments.value[place] };
  }

  /**
   * True for the active cell. It is found by key, because rows move when a key is added.
   * @param {string} key @param {number} column
   */
  isActive(key, column) {
    const place = this.place.value;
    return place.column === column && this.places.value.get(key) === place.row;
  }

  /**
   * Moves to the cell of a key in an environment. Clears a filter that hides it.
   * @param {string} key @param {string} environment
   */
  goTo(key, environment) {
    if (!this.places.value.has(key)) this.clear();
    const place = this.environments.value.findIndex(({ id }) => id === environment);
    this.isMoving = true;
    if (isNarrow.value) this.narrow.value = place;
    this.active.value = { key, column: isNarrow.value ? 1 : place + 1 };
    this.range.value = null;
  }

  /** @param {string} text */
  setText(text) {
    this.text.value = text;
    setParameters({ q: text });
  }

  /** Turns a filter on or off. @param {Show} show */
  toggle(show) {
    const shows = new Set(this.shows.value);
    if (!shows.delete(show)) shows.add(show);
    this.shows.value = shows;
    setParameters({ show: [...shows].join(",") });
  }

  clear() {
    this.shows.value = new Set();
    this.text.value = "";
    setParameters({ q: "", show: "" });
  }
}

/** State of the grid on the screen; `null` on other screens. */
export const shownGrid = signal(/** @type {GridState | null} */ (null));

/** @param {number} row @param {number} column */
export const cellId = (row, column) => `cell-${row}-${column}`;
