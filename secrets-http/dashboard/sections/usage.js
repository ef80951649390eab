// Resource usage of a team, compared with the limits of its plan.

import { html } from "../parts/html.js";
import { words as shared } from "../words.js";
import { requests } from "./api.js";
import { Frame, Heading } from "./parts.js";
import { words } from "./words.js";

const text = words.usage;

/** @param {{ name: string, use: { used?: number, limit: number | null } }} properties */
function Use({ name, use: { used = 0, limit } }) {
  return html`<li class="use">
    <span id=${`use-${name}`}>${text.names[name]}</span>
    <strong>${limit === null ? text.unlimited(used) : text.of(used, limit)}</strong>
    ${limit !== null && html`<progress aria-labelledby=${`use-${name}`} value=${Math.min(used, limit)} max=${Math.max(limit, 1)}></progress>`}
  </li>`;
}

/** @param {{ team: string }} properties */
export function Content({ team }) {
  const read = (/** @type {import("./parts.js").Place} */ place) => requests.usage(place.team.id);
  const content = (/** @type {import("./parts.js").Place} */ _place, /** @type {any} */ { plan, usage }) => {
    const shown = Object.keys(text.names).filter((name) => usage[name]?.used !== undefined);
    return html`<${Heading} title=${shared.sections.names.usage} about=${text.about(plan)} />
      <ul class="uses">${shown.map((name) => html`<${Use} key=${name} name=${name} use=${usage[name]} />`)}</ul>`;
  };
  return html`<${Frame} name="usage" team=${team} read=${read} content=${content} />`;
}
