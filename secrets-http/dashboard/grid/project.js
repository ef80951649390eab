// A project: its secrets in all environments.

import { batch } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { api } from "../api.js";
import { watch } from "../live.js";
import { Bar, ProjectNavigation } from "../parts/bar.js";
import { isNarrow } from "../parts/browser.js";
import { html } from "../parts/html.js";
import { DIALOG_STYLES, Empty, Failed, Skeleton, errorText, late, loadLate, notify } from "../parts/messages.js";
import { protect, requested } from "../routes.js";
import { words } from "../words.js";
import { changedCells, isReadable, markOf } from "./cells.js";
import { Detail, GridButton, SaveBar, Toolbar } from "./controls.js";
import { edit, given, isWritable, offer, usePaste } from "./editing.js";
import { EnvironmentTabs, Grid } from "./grid.js";
import { secretId } from "./staged.js";
import { GridState, shownGrid } from "./state.js";
import { Values, copy } from "./values.js";

/** Time for which a changed cell is marked, in ms. */
const FLASH = 4_000;

/**
 * ETag and request number of the comparison that is shown, and number of requests sent.
 * @typedef {{ etag: string | null, sent: number, shown: number }} Known
 */

/**
 * Loads the comparison again; marks changed cells unless `isQuiet`. Calls `along` when showing it.
 * @param {GridState} grid @param {Known} known @param {{ isQuiet?: boolean, along?: () => void }} [options]
 */
async function refresh(grid, known, { isQuiet = false, along = () => {} } = {}) {
  const isEqual = grid.isEqual.value;
  const number = ++known.sent;
  const { status, body, etag } = await api.compare(grid.project.slug, { equal: isEqual, etag: known.etag });
  // The response to a later request arrived first.
  if (status === 304 || number < known.shown || isEqual !== grid.isEqual.value) return along();
  Object.assign(known, { etag, shown: number });
  const before = grid.comparison.value;
  const unshown = grid.unshown.value;
  batch(() => {
    along();
    grid.comparison.value = body;
    grid.unshown.value = null;
  });
  const changed = before.revision ? changedCells(before, body) : [];
  changed.forEach(({ environment, key }) => grid.values.hide(environment.id, key));
  if (isQuiet) return;
  // The changes include those of the user.
  if (unshown) return notify(unshown.saved);
  if (!changed.length) return;
  flash(grid, new Set(changed.map(({ environment, key }) => secretId(environment.id, key))));
  const names = [...new Set(changed.map(({ environment }) => environment.name))];
  notify({ text: words.changedSecrets(changed.length, names.join(", ")) });
}

/**
 * Marks changed cells for a time, or until other cells change. Not a part of `refresh`, because the timer would keep both comparisons.
 * @param {GridState} grid @param {ReadonlySet<string>} changed
 */
function flash(grid, changed) {
  grid.flashes.value = changed;
  setTimeout(() => grid.flashes.value === changed && (grid.flashes.value = new Set()), FLASH);
}

/** @typedef {(environment: string, key: string) => Promise<string>} Read */

/** Copies the selected values to the clipboard. @param {GridState} grid @param {Read} read */
function copyMany(grid, read) {
  late(() => import("../windows/selected.js")).then((module) => module?.copySelected(grid, read));
}

/** Returns a function that performs actions. @param {GridState} grid @param {Read} read */
function actions(grid, read) {
  const target = () => {
    const { row, place, environment } = grid.target();
    const isOpen = row && environment && isReadable(markOf(row, place, environment), row.cells[place]);
    return isOpen ? { key: row.key, environment } : null;
  };
  return (/** @type {import("./cells.js").Action} */ action) => {
    if (edit(grid, action)) return;
    const at = target();
    const isSeveral = grid.isSeveral.value;
    if (isSeveral && action === "hide") grid.range.value = null;
    else if (isSeveral && action === "copy") copyMany(grid, read);
    else if (action === "filter") document.getElementById("filter")?.focus();
    else if (action === "legend") grid.isLegendOpen.value = true;
    else if (action === "hide") grid.values.hideAll();
    else if (action === "revealColumn") grid.asked.value = grid.target().environment ? grid.target().place : null;
    else if (at && action === "copy") copy(grid, read, at.environment, at.key);
    else if (at && action === "reveal") {
      const isHidden = ["hidden", "failed"].includes(grid.values.of(at.environment.id, at.key).value.state);
      if (isHidden) grid.values.reveal(at.environment.id, at.key);
      else grid.values.hide(at.environment.id, at.key);
    }
  };
}

/** Text instead of an empty grid. @param {{ grid: GridState, act: any }} properties */
function NoRows({ grid, act }) {
  if (grid.comparison.value.keys.length) {
    const clear = html`<button onClick=${() => grid.clear()}>${words.grid.clear}</button>`;
    return html`<${Empty} title=${words.grid.noMatch} actions=${clear}><p>${words.grid.noMatchText}</p><//>`;
  }
  const environments = grid.environments.value;
  const [open] = environments.filter(({ role }) => role !== "none");
  if (!environments.length) return html`<${Empty} title=${words.grid.noEnvironments}><p>${words.grid.noEnvironmentsText}</p><//>`;
  if (!open) return html`<${Empty} title=${words.errors.gone}><p>${words.grid.noRights}</p><//>`;
  const example = `secrets import .env --project ${grid.project.slug} --environment ${open.name}`;
  const add = html`<${GridButton} grid=${grid} act=${act} name="add" kind="main" />`;
  return html`<${Empty} title=${words.grid.empty} actions=${add}><p>${words.grid.emptyText}</p><pre><code>${example}</code></pre><//>`;
}

/**
 * Asks before unsaved changes are lost, and makes Ctrl-S open the review window.
 * @param {GridState} grid
 */
function useStaged(grid) {
  useEffect(() => {
    const hasChanges = () => grid.staged.value.changes.size > 0;
    const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
      const isSave = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "s";
      if (!isSave) return;
      event.preventDefault();
      if (hasChanges() && !document.querySelector("dialog[open]")) grid.isReviewing.value = true;
    };
    const unprotect = protect({ exist: hasChanges, question: words.edit.leave });
    addEventListener("keydown", onKeyDown);
    return () => {
      unprotect();
      removeEventListener("keydown", onKeyDown);
    };
  }, []);
}

/**
 * Loads the components of the windows over the grid and of selections, when one is needed or when the page is idle.
 * @param {GridState} grid
 */
function useWindows(grid) {
  const [found, setFound] = useState(/** @type {{ Windows?: any, Selection?: any }} */ ({}));
  const isOpen = grid.isWindowOpen.value;
  const isSeveral = grid.isSeveral.value;
  const load = () => import("../windows/all.js");
  useEffect(() => {
    if (found.Windows) return undefined;
    if (isOpen) return void late(load, DIALOG_STYLES).then((all) => (all ? setFound(all) : grid.closeWindows()));
    // A failure is reported when a window is needed.
    const prepare = () => loadLate(load, DIALOG_STYLES).then(setFound, () => {});
    if (isSeveral) return void prepare();
    const waiting = requestIdleCallback(prepare);
    return () => cancelIdleCallback(waiting);
  }, [isOpen, isSeveral]);
  return found;
}

/** @param {{ grid: GridState, reload: () => Promise<void>, read: Read }} properties */
function Secrets({ grid, reload, read }) {
  const act = useMemo(() => actions(grid, read), [grid]);
  const { Windows, Selection } = useWindows(grid);
  useStaged(grid);
  usePaste(grid);
  useEffect(() => {
    shownGrid.value = grid;
    return () => void (shownGrid.value = null);
  }, []);
  const action = /** @type {import("./cells.js").Action | ""} */ (requested.value);
  useEffect(() => {
    requested.value = "";
    if (action) act(action);
  }, [action]);
  const hasRows = grid.rows.value.length > 0;
  const mark = () => {
    grid.isEqual.value = !grid.isEqual.value;
    reload().catch((error) => notify({ text: errorText(error), isBad: true }));
  };
  return html`${grid.merged.value.keys.length > 0 && html`<${Toolbar} grid=${grid} act=${act} onEqual=${mark} />`}
    ${hasRows && isNarrow.value && html`<${EnvironmentTabs} grid=${grid} />`}
    ${hasRows
      ? html`<${Grid} grid=${grid} act=${act} /><${Detail} grid=${grid} act=${act} Selection=${Selection} />`
      : html`<${NoRows} grid=${grid} act=${act} />`}
    <${SaveBar} grid=${grid} act=${act} />
    ${Windows && html`<${Windows} grid=${grid} reload=${reload} read=${read} />`}`;
}

/** Loads a project when it is opened or the window becomes visible again. @param {string} name */
function useProject(name) {
  const [found, setFound] = useState(/** @type {{ project?: any, error?: any }} */ ({}));
  const known = useMemo(() => ({ etag: /** @type {string | null} */ (null), sent: 0, shown: 0 }), []);
  const read = async (/** @type {string} */ environment, /** @type {string} */ key) =>
    (await api.secret(name, environment, key)).value;
  const stop = useRef(/** @type {(() => void) | null} */ (null));
  const isClosed = useRef(false);
  const grid = useMemo(() => new GridState({ name, slug: name }, new Values(read)), []);
  const reload = (options = {}) => refresh(grid, known, options);
  // Saving ends with a quiet refresh.
  const follow = () => {
    if (grid.isSaving.value) return;
    // A notice that a save is not shown yet is more useful than the reason why.
    reload().catch((error) => notify(grid.unshown.value?.stale ?? { text: errorText(error), isBad: true }));
  };
  const begin = async () => {
    setFound({});
    try {
      const [project] = await Promise.all([api.project(name), refresh(grid, known)]);
      grid.project.name = project.name;
      document.title = `${project.name} · ${words.product}`;
      setFound({ project });
      if (!isClosed.current) stop.current ??= watch(project.slug, follow);
      const text = given.get(project.slug);
      given.delete(project.slug);
      if (text !== undefined) await offer(grid, grid.environments.value.findIndex(isWritable), text);
    } catch (error) {
      setFound({ error });
    }
  };
  useEffect(() => {
    const seen = () => document.visibilityState === "visible" && follow();
    begin();
    document.addEventListener("visibilitychange", seen);
    return () => {
      document.removeEventListener("visibilitychange", seen);
      isClosed.current = true;
      stop.current?.();
      grid.values.close();
    };
  }, []);
  return { found, grid, read, begin, reload };
}

/** @param {{ name: string }} properties */
export function Project({ name }) {
  const { found, grid, read, begin, reload } = useProject(name);
  const { project, error } = found;
  return html`<div class="project">
    <${Bar} place=${project?.name ?? name} />
    ${project && html`<${ProjectNavigation} project=${project} current="secrets" />`}
    <main>
      <h1 class="unseen">${project?.name ?? name}</h1>
      ${error && html`<${Failed} error=${error} onRetry=${begin} />`}
      ${!error && !project && html`<${Skeleton} rows=${12} />`}
      ${project && html`<${Secrets} grid=${grid} reload=${reload} read=${read} />`}
    </main>
  </div>`;
}
