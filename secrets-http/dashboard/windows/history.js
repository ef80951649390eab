// The panel of a key: its versions in each environment, their values, and rolling back.

import { useEffect, useState } from "preact/hooks";

import { api, secretsOf, send } from "../api.js";
import { description, isReadable, markOf, spoken } from "../grid/cells.js";
import { isWritable } from "../grid/editing.js";
import { ownVersion } from "../grid/staged.js";
import { Icon, html } from "../parts/html.js";
import { Dialog, Skeleton, errorText, notify } from "../parts/messages.js";
import { ago, exactly } from "../words.js";
import { Shown, useHiding } from "./review.js";
import { words } from "./words.js";

/** Number of versions that one request fetches. */
const PAGE = 100;

/**
 * @typedef {{ grid: import("../grid/state.js").GridState, name: string, environment: import("../grid/cells.js").Environment,
 *   secret: import("../grid/cells.js").Secret, reload: (options?: { isQuiet?: boolean }) => Promise<void>, read: any,
 *   people: Record<string, string> }} Own
 */

/** Returns the API path of a secret. @param {Pick<Own, "grid" | "name" | "environment">} own */
const pathOf = ({ grid, name, environment }) => `${secretsOf(grid.project.slug, environment.id)}/${encodeURIComponent(name)}`;

/**
 * Lists previous versions of a secret, newest first. The audit log records a request with values.
 * @param {Own} own @param {{ values: boolean, limit: number, before?: number }} page `before` is the version before which they were made
 */
async function versionsOf(own, { values, limit, before }) {
  const { body } = await send("GET", `${pathOf(own)}/history?values=${values}&limit=${limit}${before ? `&before=${before}` : ""}`);
  return body.history;
}

/** Returns the names of the members of a project's team by user ID. @param {string} project */
async function namesIn(project) {
  const { requests } = await import("../sections/api.js");
  const { members } = await requests.team((await api.project(project)).team_id);
  return Object.fromEntries(members.map((/** @type {any} */ { user_id, name, email }) => [user_id, name ?? email]));
}

/**
 * Value of a version, loaded when the user asks for it.
 * @param {{ of: { version: number, environment: { name: string } }, load: () => Promise<string> }} properties
 */
function Value({ of, load }) {
  const [shown, setShown] = useState(/** @type {string | null} */ (null));
  const [error, setError] = useState("");
  useHiding(shown !== null, () => setShown(null));
  const reveal = async () => {
    try {
      setShown(await load());
      setError("");
    } catch (failed) {
      setError(errorText(failed));
    }
  };
  return html`<button class="link" aria-label=${words.history.reveal(shown !== null, of.version, of.environment.name)} aria-expanded=${shown !== null} onClick=${() => (shown === null ? reveal() : setShown(null))}>
      ${shown === null ? words.cell.reveal : words.cell.hide}
    </button>
    ${shown !== null && html`<pre tabindex="0"><${Shown} value=${shown} /></pre>`}
    <span class="bad" role="status">${error}</span>`;
}

/**
 * Button that restores a version after a confirmation.
 * @param {Own & { version: number, onDone: () => void }} properties
 */
function RollBack({ grid, name, environment, secret, version, reload, onDone }) {
  const [isAsked, setAsked] = useState(false);
  const [error, setError] = useState("");
  const run = async () => {
    try {
      await send("POST", `${pathOf({ grid, name, environment })}/rollback`, { body: { version, expected_version: secret.version } });
      grid.values.hide(environment.id, name);
      notify({ text: words.history.done(name, environment.name) });
      await reload({ isQuiet: true });
      onDone();
    } catch (failed) {
      setError(errorText(failed));
      await reload().catch(() => {});
    }
    setAsked(false);
  };
  if (!isAsked) {
    return html`<button aria-label=${words.history.rollBackTo(version, environment.name)} onClick=${() => setAsked(true)}>${words.history.rollBack}</button>
      <span class="bad" role="status">${error}</span>`;
  }
  return html`<div class="conflict" role="group" aria-label=${words.history.rollBackTo(version, environment.name)}>
    <p role="status">${words.history.ask(version, environment.name)}</p>
    <button onClick=${() => setAsked(false)}>${words.cancel}</button>
    <button class="main" autofocus ref=${(/** @type {any} */ button) => button?.focus()} onClick=${run}>${words.history.rollBack}</button>
  </div>`;
}

/** Version of a secret in its history. @param {Own & { entry: any, onDone: () => void }} properties */
function Version({ entry, ...own }) {
  const { environment, secret, people } = own;
  const { version, change_type, changed_at, changed_by } = entry;
  const load = async () => (await versionsOf(own, { values: true, limit: 1, before: version + 1 }))[0].value ?? "";
  const canRollBack = isWritable(environment) && !secret.rotation && version !== secret.version;
  return html`<li class="version">
    <p class="what"><strong>${words.history.version(version)}</strong>
      <span class="said">${words.history.type[change_type] ?? change_type} <time datetime=${changed_at} title=${exactly(changed_at)}>${ago(changed_at)}</time>
      ${people[changed_by] && ` ${words.history.by(people[changed_by])}`}</span></p>
    <div class="more">
      ${change_type !== "hidden" && html`<${Value} of=${{ version, environment }} load=${load} />`}
      ${canRollBack && html`<${RollBack} ...${own} version=${version} />`}
    </div>
  </li>`;
}

/** Versions of the secret that an environment holds itself. @param {Own} own */
function OwnHistory(own) {
  const { name, environment, secret, read } = own;
  const [found, setFound] = useState(/** @type {{ entries?: any[], hasMore?: boolean, error?: any }} */ ({}));
  const { entries, hasMore, error } = found;
  const page = async (/** @type {any[]} */ newer) => {
    const versions = await versionsOf(own, { values: false, limit: PAGE, before: newer.at(-1)?.version });
    return { entries: [...newer, ...versions], hasMore: versions.length === PAGE };
  };
  const load = () => page([]).then(setFound, (error) => setFound({ error }));
  const more = async () => {
    const next = await page(entries ?? []).catch((error) => ({ ...found, error }));
    // A second click requests the same page, and the first page may have been loaded again meanwhile.
    setFound((current) => (current.entries === entries ? next : current));
  };
  useEffect(() => void load(), [secret.version]);
  if (error && !entries) return html`<p class="bad">${errorText(error)}</p>`;
  if (!entries) return html`<${Skeleton} rows=${2} />`;
  const older = entries.filter(({ version }) => version !== secret.version);
  return html`<ul class="lines">
    <li class="version"><p class="what"><strong>${words.history.version(secret.version)}</strong> <span class="where">${words.history.current}</span>
      <span class="said"><time datetime=${secret.updated_at} title=${exactly(secret.updated_at)}>${ago(secret.updated_at)}</time></span></p>
      <div class="more">${secret.state !== "hidden" && html`<${Value} key=${secret.version} of=${{ version: secret.version, environment }} load=${() => read(environment.id, name)} />`}</div>
    </li>
    ${older.map((entry) => html`<${Version} key=${entry.id} ...${own} entry=${entry} onDone=${load} />`)}
  </ul>
  ${error && html`<p class="bad" role="alert">${errorText(error)}</p>`}
  ${hasMore && html`<button aria-label=${words.history.moreOf(environment.name)} onClick=${more}>${words.history.more}</button>`}`;
}

/**
 * Window with the history of a key in all environments.
 * @param {{ grid: import("../grid/state.js").GridState, name: string, reload: any, read: any }} properties
 */
export function KeyPanel({ grid, name, reload, read }) {
  const { environments, keys } = grid.comparison.value;
  const [people, setPeople] = useState(/** @type {Record<string, string>} */ ({}));
  useEffect(() => void namesIn(grid.project.slug).then(setPeople, () => {}), []);
  const row = keys.find(({ key }) => key === name);
  const first = grid.target().place;
  const close = () => (grid.historyOf.value = null);
  const order = environments.map((_, place) => place).sort((one, other) => Number(other === first) - Number(one === first));
  return html`<${Dialog} title=${words.history.title(name)} onClose=${close} kind="panel">
    ${row && description(row) && html`<p>${description(row)}</p>`}
    <p class="quiet">${words.history.recorded}</p>
    ${!row && html`<p>${words.history.none}</p>`}
    ${row &&
    order.map((place) => {
      const environment = environments[place];
      const secret = row.cells[place];
      const mark = markOf(row, place, environment);
      const hasOwn = secret && ownVersion(secret) > 0 && (mark === "hidden" || isReadable(mark, secret));
      return html`<section key=${environment.id}>
        <h3>${environment.name} <span class=${`quiet mark-${mark}`}>${mark !== "absent" && html`<${Icon} name=${mark} />`} ${spoken(row, place, environments)}</span></h3>
        ${hasOwn && html`<${OwnHistory} grid=${grid} name=${name} environment=${environment} secret=${secret} reload=${reload} read=${read} people=${people} />`}
      </section>`;
    })}
  <//>`;
}
