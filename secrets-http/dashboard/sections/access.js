// Access of members (rows) to a project's environments (columns). Changes are staged, then saved.

import { useEffect, useMemo, useState } from "preact/hooks";

import { html } from "../parts/html.js";
import { notify } from "../parts/messages.js";
import { protect } from "../routes.js";
import { requests } from "./api.js";
import { FormDialog } from "./form.js";
import { Frame, Heading, isSelf } from "./parts.js";
import { words } from "./words.js";

/** @typedef {import("./parts.js").Place} Place */

const text = words.access;

const ROLES = ["none", "read", "write", "admin"];

/** @typedef {{ environment: any, member: any, role: string }} Change `role` is empty for the default */

/** Returns the ID of a table cell. @param {any} environment @param {any} member */
const placeOf = (environment, member) => `${environment.id} ${member.user_id}`;

/**
 * Sends the staged permission changes, in one request for each environment. If it fails, it can be called again.
 * @param {string} project @param {Change[]} changes
 */
async function save(project, changes) {
  for (const [id, group] of Map.groupBy(changes, ({ environment }) => environment.id)) {
    const set = group.filter(({ role }) => role);
    if (set.length) {
      await requests.setPermissions(project, id, set.map(({ member, role }) => ({ user_id: member.user_id, role })));
    }
    for (const { member } of group.filter(({ role }) => !role)) {
      await requests.deletePermission(project, id, member.user_id).catch((/** @type {any} */ error) => {
        // Not found: the permission is deleted already, for example by an earlier call that failed later, or its environment is.
        if (error.status !== 404) throw error;
      });
    }
  }
}

/**
 * Asks before the user leaves the screen or the page with unsaved changes.
 * @param {boolean} hasChanges
 */
function useLeaving(hasChanges) {
  useEffect(() => protect({ exist: () => hasChanges, question: text.leave }), [hasChanges]);
}

/**
 * Table cell with a member's role in an environment, whose default role is `standard`.
 * @param {{ environment: any, member: any, current: string, staged: string | undefined, standard: string | undefined, onChange: (role: string) => void }} properties
 */
function Cell({ environment, member, current, staged, standard, onChange }) {
  if (member.role !== "member") return html`<td>${words.roles.admin}<span class="quiet">${words.roles[member.role]}</span></td>`;
  const shown = staged ?? current;
  const named = (/** @type {string} */ role) => words.roles[role] ?? role;
  if (!environment.can_admin || isSelf(member)) return html`<td>${shown ? named(shown) : text.inherited(standard && named(standard))}</td>`;
  const label = text.of(member.name ?? member.email, environment.name);
  return html`<td>
    <select class=${staged === undefined ? "" : "changed"} aria-label=${label} onChange=${(/** @type {any} */ { target }) => onChange(target.value)}>
      <option value="" selected=${shown === ""}>${text.inherited(standard && named(standard))}</option>
      ${ROLES.map((role) => html`<option key=${role} value=${role} selected=${shown === role}>${named(role)}</option>`)}
    </select>
  </td>`;
}

/**
 * Dialog that lists the staged changes and saves them.
 * @param {{ project: any, changes: Change[], onClose: () => void, onDone: () => Promise<void> }} properties
 */
function Review({ project, changes, onClose, onDone }) {
  const request = async () => {
    await save(project.slug, changes);
    await onDone();
  };
  return html`<${FormDialog} title=${text.reviewTitle} submit=${text.save} onClose=${onClose} request=${request}>
    ${() => html`<ul class="plain">
      ${changes.map(({ environment, member, role }) => {
        const named = role ? words.roles[role] : text.inherited(undefined);
        return html`<li key=${placeOf(environment, member)}>${text.change(member.name ?? member.email, environment.name, named)}</li>`;
      })}
    </ul>`}
  <//>`;
}

/**
 * Table of the members' roles in the environments that the user manages.
 * @param {{ place: Place, data: any, reload: () => Promise<void> }} properties
 */
function Access({ place, data, reload }) {
  const [staged, setStaged] = useState(/** @type {Map<string, Change>} */ (new Map()));
  const [isReviewed, setReviewed] = useState(false);
  const { environments, roles, defaults } = data;
  const members = useMemo(() => place.team.members.filter((/** @type {any} */ { status }) => status === "active"), [place]);
  useLeaving(staged.size > 0);
  const stage = (/** @type {any} */ environment, /** @type {any} */ member) => (/** @type {string} */ role) => {
    const at = placeOf(environment, member);
    const next = new Map(staged);
    if (role === (roles.get(at) ?? "")) next.delete(at);
    else next.set(at, { environment, member, role });
    setStaged(next);
  };
  const done = async () => {
    setReviewed(false);
    setStaged(new Map());
    notify({ text: text.saved });
    await reload();
  };
  return html`<${Heading} title=${text.title} about=${text.about} />
    <div class="matrix" role="region" aria-label=${text.title} tabindex="0">
      <table>
        <thead><tr><th scope="col">${text.person}</th>${environments.map((/** @type {any} */ { id, name }) => html`<th key=${id} scope="col">${name}</th>`)}</tr></thead>
        <tbody>
          ${members.map(
            (/** @type {any} */ member) => html`<tr key=${member.id}>
              <th scope="row">${member.name ?? member.email}${isSelf(member) && html` <span class="tag">${words.members.self}</span>`}<span class="quiet">${member.email}</span></th>
              ${environments.map((/** @type {any} */ environment) => {
                const at = placeOf(environment, member);
                return html`<${Cell}
                  key=${environment.id}
                  environment=${environment}
                  member=${member}
                  current=${roles.get(at) ?? ""}
                  staged=${staged.get(at)?.role}
                  standard=${defaults.get(environment.name)}
                  onChange=${stage(environment, member)}
                />`;
              })}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${staged.size > 0 &&
    html`<div class="saving">
      <p role="status">${text.changed(staged.size)}</p>
      <button onClick=${() => setStaged(new Map())}>${text.discard}</button>
      <button class="main" onClick=${() => setReviewed(true)}>${text.review}</button>
    </div>`}
    ${isReviewed && html`<${Review} project=${place.project} changes=${[...staged.values()]} onClose=${() => setReviewed(false)} onDone=${done} />`}`;
}

/**
 * The user's own access, for a user who manages no environment.
 * @param {{ environments: any[] }} properties
 */
const Own = ({ environments }) => html`<${Heading} title=${text.title} about=${text.ownText} />
  <div class="matrix" role="region" aria-label=${text.title} tabindex="0">
    <table>
      <thead><tr><th scope="col">${text.environment}</th><th scope="col">${text.role}</th></tr></thead>
      <tbody>${environments.map(({ id, name, role }) => html`<tr key=${id}><th scope="row">${name}</th><td>${words.roles[role]}</td></tr>`)}</tbody>
    </table>
  </div>`;

/**
 * Loads the permissions of the environments that the signed-in user manages.
 * @param {Place} place
 */
async function read({ project }) {
  const { permissions } = await requests.myPermissions(project.slug);
  const environments = permissions.map((/** @type {any} */ { environment_id, environment_name, role, can_admin }) => ({ id: environment_id, name: environment_name, role, can_admin }));
  const managed = environments.filter((/** @type {any} */ { can_admin }) => can_admin);
  if (!managed.length) return { environments, roles: null };
  const [defaults, ...lists] = await Promise.all([
    requests.defaults(project.slug),
    ...managed.map((/** @type {any} */ { id }) => requests.permissions(project.slug, id)),
  ]);
  const roles = lists.flat().map((/** @type {any} */ { environment_id, user_id, role }) => [`${environment_id} ${user_id}`, role]);
  return {
    environments: managed,
    roles: new Map(/** @type {[string, string][]} */ (roles)),
    defaults: new Map(defaults.map((/** @type {any} */ { environment_name, default_role }) => [environment_name, default_role])),
  };
}

/** Section with the permissions of a project. @param {{ project: string }} properties */
export function Content({ project }) {
  const content = (/** @type {Place} */ place, /** @type {any} */ data, /** @type {any} */ reload) =>
    data.roles ? html`<${Access} place=${place} data=${data} reload=${reload} />` : html`<${Own} environments=${data.environments} />`;
  return html`<${Frame} name="access" project=${project} read=${read} content=${content} />`;
}
