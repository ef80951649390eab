// Audit log of a team or a project, by day. The page's URL contains the filters.

import { useRef, useState } from "preact/hooks";

import { api } from "../api.js";
import { html } from "../parts/html.js";
import { Empty, errorText, notify } from "../parts/messages.js";
import { parameter, setParameters } from "../routes.js";
import { words as shared } from "../words.js";
import { requests } from "./api.js";
import { ChainStatus } from "./chain.js";
import { Chart, dayOf } from "./chart.js";
import { RequestError } from "./form.js";
import { ActionButton, AdminsOnly, Frame, Heading, saveFile } from "./parts.js";
import { words } from "./words.js";

/**
 * @typedef {import("./parts.js").Place} Place
 * @typedef {{ page: { logs: any[], next_cursor?: string }, tokens: any[], projects: any[] }} First first page of the audit
 *   log, service tokens of the team, and its projects if the section is that of the team
 */

const text = words.audit;

/** Query parameters of the page's URL that filter the audit log. */
const FILTERS = ["action", "outcome", "actor_id", "project_id", "environment_id", "key", "from", "to"];

/** Number of audit entries that one request fetches for display, unlike `FILE_PAGE` for exports. */
const PAGE = 100;

/** Number of audit entries that one request fetches for an exported file. */
const FILE_PAGE = 200;

/** Maximum number of requests for an exported file, which has at most 10,000 entries. */
const MAX_FILE_PAGES = 50;

const days = new Intl.DateTimeFormat(undefined, { dateStyle: "full" });
const times = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

/**
 * Returns the filters that the page's URL contains. The section of a project has no filter by project, and that of a
 * team none by environment.
 * @param {Place} place @returns {Record<string, string>}
 */
function chosen({ project }) {
  const absent = project ? "project_id" : "environment_id";
  return Object.fromEntries(FILTERS.map((name) => [name, name === absent ? "" : parameter(name)]));
}

/**
 * Returns the local time at which a day, or the day `later` days after it, begins.
 * @param {string} day @param {number} [later] days
 */
function midnight(day, later = 0) {
  const [year, month, date] = day.split("-").map(Number);
  const time = new Date(year, month - 1, date + later);
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}

/**
 * Returns the query parameters of the request for the audit log.
 * @param {Place} place @param {Record<string, string>} filters
 */
function queryOf({ project }, { from, to, ...filters }) {
  return {
    ...filters,
    project_id: project?.id ?? filters.project_id,
    from: from ? midnight(from) : undefined,
    // The range includes the whole last day.
    to: to ? midnight(to, 1) : undefined,
  };
}

/** List item for an entry of the audit log. @param {any} entry */
function Entry({ entry }) {
  const { action, outcome, project_name, environment_name, resource_name, ip_address, created_at } = entry;
  const parts = [project_name, environment_name, resource_name].filter(Boolean);
  const place = parts.filter((part, index) => part !== parts[index - 1]).join(" / ");
  return html`<li class="record">
    <time datetime=${created_at}>${times.format(new Date(created_at))}</time>
    <span class="actor">${text.by(entry)}</span>
    <code class="action">${action}</code>
    <span class="where-to">${place}</span>
    <span class="outcome">${outcome !== "success" && html`<span class="tag bad">${outcome}</span>`}</span>
    <code class="address">${ip_address ?? ""}</code>
  </li>`;
}

/**
 * Labelled selection field for a filter.
 * @param {{ name: string, label: string, options: string[][], value: string, onChange: (event: any) => void }} properties
 */
const Choice = ({ name, label, options, value, onChange }) => html`<label class="filter">
  <span>${label}</span>
  <select name=${name} onChange=${onChange}>
    ${options.map(([id, title]) => html`<option key=${id} value=${id} selected=${id === value}>${title}</option>`)}
  </select>
</label>`;

/**
 * Returns options that include the chosen one, which is from the page's URL.
 * @param {string[][]} options @param {string} id @param {string} [title]
 */
const withChosen = (options, id, title = id) => (options.some(([known]) => known === id) ? options : [...options, [id, title]]);

/** Options for the actor: the people of the team and its service tokens. @param {Place} place @param {any[]} tokens */
const actorsOf = ({ team }, tokens) => [
  ["", text.anyone],
  ...team.members.filter((/** @type {any} */ { user_id }) => user_id).map((/** @type {any} */ { user_id, name, email }) => [user_id, name ?? email]),
  ...tokens.map(({ id, name }) => [id, text.token(name)]),
];

/**
 * Field for the place of the actions: a project of the team, or an environment of the project.
 * @param {{ place: Place, projects: any[], filters: Record<string, string>, onChange: (event: any) => void }} properties
 */
function PlaceChoice({ place, projects, filters, onChange }) {
  const [name, label, any] = place.project ? ["environment_id", text.environment, text.anyEnvironment] : ["project_id", text.project, text.anyProject];
  const known = (place.project?.environments ?? projects).map((/** @type {any} */ { id, name }) => [id, name]);
  const options = withChosen([["", any], ...known], filters[name]);
  return html`<${Choice} name=${name} label=${label} options=${options} value=${filters[name]} onChange=${onChange} />`;
}

/**
 * Form with all filters of the audit log.
 * @param {{ place: Place, first: First, logs: any[], filters: Record<string, string>, onChange: (event: any) => void, onClear: () => void }} properties
 */
function Filters({ place, first, logs, filters, onChange, onClear }) {
  const actions = withChosen(text.actions, filters.action);
  // A token that was revoked is not listed, but its entries have its name.
  const entry = logs.find(({ actor_id }) => actor_id === filters.actor_id);
  const actors = withChosen(actorsOf(place, first.tokens), filters.actor_id, entry && text.by(entry));
  const isFiltered = FILTERS.some((name) => filters[name]);
  return html`<form class="filters" aria-label=${text.filters} onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    <${Choice} name="action" label=${text.action} options=${actions} value=${filters.action} onChange=${onChange} />
    <${Choice} name="actor_id" label=${text.actor} options=${actors} value=${filters.actor_id} onChange=${onChange} />
    <${Choice} name="outcome" label=${text.outcome} options=${text.outcomes} value=${filters.outcome} onChange=${onChange} />
    <${PlaceChoice} place=${place} projects=${first.projects} filters=${filters} onChange=${onChange} />
    <label class="filter"><span>${text.key}</span><input type="text" name="key" autocomplete="off" spellcheck=${false} value=${filters.key} onChange=${onChange} /></label>
    <label class="filter"><span>${text.from}</span><input type="date" name="from" value=${filters.from} onChange=${onChange} /></label>
    <label class="filter"><span>${text.to}</span><input type="date" name="to" value=${filters.to} onChange=${onChange} /></label>
    ${isFiltered && html`<button type="button" onClick=${onClear}>${text.clear}</button>`}
  </form>`;
}

/** Audit entries, grouped under a heading for each day. @param {{ logs: any[] }} properties */
function Days({ logs }) {
  const groups = Map.groupBy(logs, ({ created_at }) => dayOf(created_at));
  return [...groups].map(
    ([day, entries]) => html`<section key=${day}>
      <h2 class="group">${days.format(new Date(entries[0].created_at))}</h2>
      <ul class="items records">${entries.map((entry) => html`<${Entry} key=${entry.id} entry=${entry} />`)}</ul>
    </section>`,
  );
}

/**
 * Loads the audit log page by page, and saves it as a file.
 * @param {string} team @param {any} query @param {"csv" | "ndjson"} format
 */
async function download(team, query, format) {
  const texts = [];
  let cursor = /** @type {string | undefined} */ (undefined);
  do {
    const { body, next } = await requests.auditText(team, { ...query, format, limit: String(FILE_PAGE), cursor });
    // Each page of a CSV file begins with the names of the columns.
    texts.push(format === "csv" && texts.length ? body.slice(body.indexOf("\n") + 1) : body);
    cursor = next ?? undefined;
  } while (cursor && texts.length < MAX_FILE_PAGES);
  saveFile(texts.join(""), `audit.${format}`, format === "csv" ? "text/csv" : "application/x-ndjson");
  notify({ text: cursor ? text.cut : text.downloaded(texts.length) });
}

/**
 * Loads pages of the audit log until one has entries. Ends early if `isNeeded` returns false.
 * @param {string} team @param {Record<string, string | undefined>} query @param {() => boolean} [isNeeded]
 */
async function nextPage(team, query, isNeeded = () => true) {
  /** @type {First["page"]} */
  let found = { logs: [] };
  for await (found of requests.auditPages(team, query)) if (found.logs.length || !isNeeded()) break;
  return found;
}

/**
 * Keeps the loaded entries of the audit log, and loads more pages or the entries for other filters.
 * @param {Place} place @param {First["page"]} page
 */
function useLog(place, page) {
  const [log, setLog] = useState({ logs: page.logs, cursor: page.next_cursor, error: /** @type {any} */ (null), isLoading: false });
  const [filters, setFilters] = useState(() => chosen(place));
  // Only the response to the latest request is shown.
  const latest = useRef(0);
  const load = async (/** @type {Record<string, string>} */ wanted, /** @type {string | undefined} */ cursor) => {
    const number = ++latest.current;
    try {
      const page = await nextPage(place.team.id, { ...queryOf(place, wanted), limit: String(PAGE), cursor }, () => number === latest.current);
      if (number !== latest.current) return;
      setLog((current) => ({ logs: cursor ? [...current.logs, ...page.logs] : page.logs, cursor: page.next_cursor, error: null, isLoading: false }));
    } catch (error) {
      if (number === latest.current) setLog((current) => ({ ...current, error, logs: cursor ? current.logs : [], isLoading: false }));
    }
  };
  const filter = (/** @type {Record<string, string>} */ values) => {
    const wanted = { ...filters, ...values };
    setFilters(wanted);
    setParameters(values);
    // The cursor belongs to the entries for the other filters.
    setLog((current) => ({ ...current, cursor: undefined, error: null, isLoading: true }));
    load(wanted, undefined);
  };
  return { log, filters, filter, more: () => load(filters, log.cursor) };
}

/**
 * Audit log with its filters, the state of its chain, the chart and the entries.
 * @param {{ place: Place, first: First }} properties
 */
function Log({ place, first }) {
  const { log, filters, filter, more } = useLog(place, first.page);
  const change = (/** @type {any} */ { target }) => filter({ [target.name]: target.value });
  const clear = () => filter(Object.fromEntries(FILTERS.map((name) => [name, ""])));
  const file = (/** @type {"csv" | "ndjson"} */ format) =>
    download(place.team.id, queryOf(place, filters), format).catch((error) => notify({ text: errorText(error), isBad: true }));
  const { logs, cursor, error, isLoading } = log;
  const isEmpty = !error && !isLoading && logs.length === 0;
  return html`<${Heading} title=${shared.sections.names.audit} about=${text.about}>
      <${ActionButton} name="csv" rights=${place} run=${() => file("csv")} />
      <${ActionButton} name="ndjson" rights=${place} run=${() => file("ndjson")} />
    <//>
    <${Filters} place=${place} first=${first} logs=${logs} filters=${filters} onChange=${change} onClear=${clear} />
    <${ChainStatus} place=${place} />
    <${RequestError} error=${error} />
    ${isEmpty && !cursor && html`<${Empty} title=${text.none}><p>${text.noneText}</p><//>`}
    ${isEmpty && cursor && html`<p class="quiet">${text.noneYet}</p>`}
    ${!error && logs.length > 0 && html`<${Chart} logs=${logs} isPartial=${Boolean(cursor)} /><${Days} logs=${logs} />`}
    ${cursor && html`<p class="more"><button onClick=${more}>${text.more}</button></p>`}`;
}

/**
 * Loads the first page of the audit log, and the options of its filters; `null` if the user may not see it.
 * @param {Place} place @returns {Promise<First | null>}
 */
async function read(place) {
  const { project, team, isAdmin } = place;
  if (!isAdmin) return null;
  const [page, tokens, projects] = await Promise.all([
    nextPage(team.id, { ...queryOf(place, chosen(place)), limit: String(PAGE) }),
    // Without the options of its filters, the log is still useful.
    requests.tokens(team.id).catch(() => []),
    project ? [] : api.projects().catch(() => []),
  ]);
  return { page, tokens, projects: projects.filter((/** @type {any} */ { team_id }) => team_id === team.id) };
}

/** Section with the audit log of a project or a team. @param {{ project?: string, team?: string }} properties */
export function Content({ project, team }) {
  const content = (/** @type {Place} */ place, /** @type {any} */ data) =>
    data
      ? html`<${Log} place=${place} first=${data} />`
      : html`<${AdminsOnly} title=${shared.sections.names.audit} team=${place.team} />`;
  return html`<${Frame} name="audit" project=${project} team=${team} read=${read} content=${content} />`;
}
