// Resource usage of a team, compared with the limits of its plan, and its deleted projects.

import { api } from "../api.js";
import { html } from "../parts/html.js";
import { errorText, notify } from "../parts/messages.js";
import { words as shared } from "../words.js";
import { requests } from "./api.js";
import { Age, Frame, Heading } from "./parts.js";
import { restore } from "./settings.js";
import { words } from "./words.js";

const text = words.usage;

/** Number of days in which a deleted project can be restored. */
const RESTORABLE = 30;
const DAY = 86_400_000;

/**
 * Number of objects of one kind that a team uses, with the limit of its plan.
 * @param {{ name: string, use: { used?: number, limit: number | null } }} properties
 */
function Use({ name, use: { used = 0, limit } }) {
  return html`<li class="use">
    <span id=${`use-${name}`}>${text.names[name]}</span>
    <strong>${limit === null ? text.unlimited(used) : text.of(used, limit)}</strong>
    ${limit !== null && html`<progress aria-labelledby=${`use-${name}`} value=${Math.min(used, limit)} max=${Math.max(limit, 1)}></progress>`}
  </li>`;
}

/**
 * List of deleted projects, with buttons to restore them.
 * @param {{ projects: any[], reload: () => Promise<void> }} properties
 */
const Deleted = ({ projects, reload }) => html`<div class="subheading"><h2>${words.settings.deleted}</h2></div>
  <p class="quiet about">${words.settings.deletedText}</p>
  <ul class="items">
    ${projects.map(
      ({ id, name, by, time }) => html`<li key=${id} class="entry">
        <div class="what"><p class="title">${name}</p><p class="quiet">${words.settings.deletedAt} <${Age} time=${time} /> ${words.settings.by} ${by}</p></div>
        <button
          aria-label=${`${words.settings.restore}: ${name}`}
          onClick=${() => restore({ id, name }).then(reload).catch((error) => notify({ text: errorText(error), isBad: true }))}
        >${words.settings.restore}</button>
      </li>`,
    )}
  </ul>`;

/** Finds the deleted projects of a team in its audit log. @param {string} team */
async function deletedProjects(team) {
  const from = new Date(Date.now() - RESTORABLE * DAY).toISOString();
  const known = new Set((await api.projects()).map((/** @type {any} */ { id }) => id));
  const logs = [];
  for await (const page of requests.auditPages(team, { action: "project.deleted", outcome: "success", from, limit: "100" })) logs.push(...page.logs);
  const entries = logs.map((entry) => ({ id: entry.resource_id, name: entry.resource_name, by: words.audit.by(entry), time: entry.created_at }));
  // A project may have been deleted and restored before.
  return entries.filter(({ id }, place) => !known.has(id) && entries.findIndex((other) => other.id === id) === place);
}

/** Section with the plan and the usage of a team. @param {{ team: string }} properties */
export function Content({ team }) {
  const read = async (/** @type {import("./parts.js").Place} */ place) => {
    const [usage, deleted] = await Promise.all([requests.usage(place.team.id), place.isAdmin ? deletedProjects(place.team.id) : []]);
    return { ...usage, deleted };
  };
  const content = (/** @type {import("./parts.js").Place} */ _place, /** @type {any} */ { plan, usage, deleted }, /** @type {any} */ reload) => {
    const shown = Object.keys(text.names).filter((name) => usage[name]?.used !== undefined);
    return html`<${Heading} title=${shared.sections.names.usage} about=${text.about(plan)} />
      <ul class="uses">${shown.map((name) => html`<${Use} key=${name} name=${name} use=${usage[name]} />`)}</ul>
      ${deleted.length > 0 && html`<${Deleted} projects=${deleted} reload=${reload} />`}`;
  };
  return html`<${Frame} name="usage" team=${team} read=${read} content=${content} />`;
}
