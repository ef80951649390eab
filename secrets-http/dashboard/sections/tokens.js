// Service tokens of a team, or those that may use a project.

import { useState } from "preact/hooks";

import { api } from "../api.js";
import { html } from "../parts/html.js";
import { Empty, notify } from "../parts/messages.js";
import { pathOf, teamPath } from "../routes.js";
import { exactly, words as shared } from "../words.js";
import { requests } from "./api.js";
import { FormDialog } from "./form.js";
import { NewToken, TokenValue } from "./new-token.js";
import { ActionButton, AdminsOnly, Age, Frame, Heading } from "./parts.js";
import { words } from "./words.js";

/** @typedef {import("./parts.js").Place} Place */

const text = words.tokens;

const DAY = 86_400_000;

/** Number of days before its expiry in which a token is marked as expiring soon. */
const SOON = 14;

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** Expiry of a token, marked if it is near or past. @param {{ token: any }} properties */
function Expiry({ token }) {
  const { expires_at, status } = token;
  if (!expires_at) return html`<span>${text.never}</span>`;
  if (status === "expired") return html`<span class="tag bad">${text.expired}</span>`;
  const days = Math.ceil((Date.parse(expires_at) - Date.now()) / DAY);
  const isSoon = days <= SOON;
  const said = isSoon ? text.expiresIn(days) : text.expires(dates.format(new Date(expires_at)));
  return html`<time class=${isSoon ? "tag soon" : ""} datetime=${expires_at} title=${exactly(expires_at)}>${said}</time>`;
}

/** Describes the scope of a token: its projects and environments. @param {any} token @param {Map<string, string>} projects @param {any} project */
function scopeOf(token, projects, project) {
  const known = token.project_ids.map((/** @type {string} */ id) => projects.get(id));
  const where = token.all_projects
    ? text.all
    : known.every(Boolean)
      ? known.join(", ")
      : text.others(known.length);
  const names = new Map((project?.environments ?? []).map((/** @type {any} */ { id, name }) => [id, name]));
  const own = token.environment_ids.map((/** @type {string} */ id) => names.get(id));
  const some = own.every(Boolean) ? own.join(", ") : text.someEnvironments(own.length);
  return [where, token.all_environments ? text.allEnvironments : some].join(" · ");
}

/**
 * Card of a service token, with its scope and its actions.
 * @param {{ token: any, scope: string, auditPath: string, onAsk: (action: string, token: any) => void }} properties
 */
function Token({ token, scope, auditPath, onAsk }) {
  const { id, name, token_prefix, permissions, last_used_at, last_used_ip, ip_allowlist, outlives_session } = token;
  return html`<li class="entry">
    <div class="what">
      <p class="title">${name} <code class="prefix">${token_prefix}…</code></p>
      <p>${scope} · ${permissions.map((/** @type {string} */ permission) => text.permissions[permission] ?? permission).join(", ")}
        ${ip_allowlist.length > 0 && html` · <code>${ip_allowlist.join(", ")}</code>`}</p>
      <p class="quiet"><${Expiry} token=${token} /> · ${last_used_at
        ? html`${text.used} <${Age} time=${last_used_at} />${last_used_ip && html` ${text.from} <code>${last_used_ip}</code>`}`
        : text.unused}${outlives_session && html` · ${text.outlivesSession}`}</p>
    </div>
    <div class="actions">
      <a class="button" aria-label=${`${text.activity}: ${name}`} href=${`${auditPath}?actor_id=${id}`}>${text.activity}</a>
      <button aria-label=${`${text.rotate}: ${name}`} onClick=${() => onAsk("rotate", token)}>${text.rotate}</button>
      <button class="danger" aria-label=${`${text.revoke}: ${name}`} onClick=${() => onAsk("revoke", token)}>${text.revoke}</button>
    </div>
  </li>`;
}

/**
 * Dialog to replace the text of a token by a new one.
 * @param {{ token: any, onClose: () => void, onDone: (token: any) => void }} properties
 */
function Rotate({ token, onClose, onDone }) {
  const [grace, setGrace] = useState(0);
  const rotate = async () => onDone(await requests.rotateToken(token.id, grace));
  return html`<${FormDialog} title=${text.rotateTitle(token.name)} submit=${text.rotate} onClose=${onClose} request=${rotate}>
    ${() => html`<p>${text.rotateText}</p>
      <fieldset class="options">
        <legend>${text.grace}</legend>
        ${text.graces.map(
          ([seconds, label]) => html`<label key=${seconds} class="check">
            <input type="radio" name="grace" checked=${grace === seconds} onChange=${() => setGrace(seconds)} />${label}
          </label>`,
        )}
      </fieldset>`}
  <//>`;
}

/** Dialog to revoke a token. @param {{ token: any, onClose: () => void, onDone: () => void }} properties */
function Revoke({ token, onClose, onDone }) {
  const revoke = async () => {
    await requests.revokeToken(token.id);
    onDone();
  };
  return html`<${FormDialog} title=${text.revokeTitle(token.name)} submit=${text.revoke} isDangerous onClose=${onClose} request=${revoke}>
    ${() => html`<p>${text.revokeText}</p>`}
  <//>`;
}

/**
 * List of service tokens, with the dialogs to change them.
 * @param {{ place: Place, tokens: any[], projects: any[], reload: () => Promise<void> }} properties
 */
function Tokens({ place, tokens, projects, reload }) {
  const [asked, setAsked] = useState(/** @type {{ action: string, token?: any } | null} */ (null));
  const close = () => setAsked(null);
  const ask = (/** @type {string} */ action, /** @type {any} */ token) => setAsked({ action, token });
  const names = new Map(projects.map(({ id, name }) => [id, name]));
  const auditPath = place.project ? `${pathOf(place.project)}/audit` : teamPath(place.team.id, "audit");
  const show = async (/** @type {any} */ token) => {
    setAsked({ action: "value", token });
    await reload();
  };
  const revoked = async () => {
    close();
    notify({ text: text.revoked(asked?.token.name) });
    await reload();
  };
  const rights = { isAdmin: place.isAdmin, projects: projects.length };
  return html`<${Heading} title=${shared.sections.names.tokens} about=${text.about}><${ActionButton} name="newToken" rights=${rights} run=${() => ask("create", null)} /><//>
    ${tokens.length > 0
      ? html`<ul class="items">
          ${tokens.map((token) => html`<${Token} key=${token.id} token=${token} scope=${scopeOf(token, names, place.project)} auditPath=${auditPath} onAsk=${ask} />`)}
        </ul>`
      : html`<${Empty} title=${text.none}><p>${text.noneText}</p><//>`}
    ${asked?.action === "create" && html`<${NewToken} place=${place} projects=${projects} onClose=${close} onDone=${show} />`}
    ${asked?.action === "rotate" && html`<${Rotate} token=${asked.token} onClose=${close} onDone=${show} />`}
    ${asked?.action === "revoke" && html`<${Revoke} token=${asked.token} onClose=${close} onDone=${revoked} />`}
    ${asked?.action === "value" && html`<${TokenValue} token=${asked.token} onClose=${close} />`}`;
}

/**
 * Loads the team's tokens and projects; for a project, only the tokens that can access it. Returns
 * `null` if the user is not an admin.
 * @param {Place} place
 */
async function read({ project, team, isAdmin }) {
  if (!isAdmin) return null;
  const [tokens, projects] = await Promise.all([requests.tokens(team.id), api.projects()]);
  const isUsable = (/** @type {any} */ token) => token.all_projects || token.project_ids.includes(project.id);
  return {
    tokens: project ? tokens.filter(isUsable) : tokens,
    projects: projects.filter((/** @type {any} */ { team_id }) => team_id === team.id),
  };
}

/** Section with the service tokens of a project or a team. @param {{ project?: string, team?: string }} properties */
export function Content({ project, team }) {
  const content = (/** @type {Place} */ place, /** @type {any} */ data, /** @type {any} */ reload) =>
    data
      ? html`<${Tokens} place=${place} tokens=${data.tokens} projects=${data.projects} reload=${reload} />`
      : html`<${AdminsOnly} title=${shared.sections.names.tokens} team=${place.team} />`;
  return html`<${Frame} name="tokens" project=${project} team=${team} read=${read} content=${content} />`;
}
