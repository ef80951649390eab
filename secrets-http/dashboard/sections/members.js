// Members of a team, and its invitations.

import { useState } from "preact/hooks";

import { Icon, html } from "../parts/html.js";
import { Dialog, errorText, notify } from "../parts/messages.js";
import { words as shared } from "../words.js";
import { requests } from "./api.js";
import { Field, FormDialog } from "./form.js";
import { ActionButton, Age, Frame, Heading, copyText, isSelf } from "./parts.js";
import { words } from "./words.js";

/** @typedef {import("./parts.js").Place} Place */

const text = words.members;

/** Returns the name of a user, or else the e-mail address. @param {any} person */
const nameOf = ({ name, email }) => name || email;

/**
 * Radio buttons to choose a role.
 * @param {{ options: string[], value: string, onChange: (role: string) => void }} properties
 */
const Roles = ({ options, value, onChange }) => html`<fieldset class="options">
  <legend>${text.role}</legend>
  ${options.map(
    (role) => html`<label key=${role} class="check"><input type="radio" name="role" checked=${role === value} onChange=${() => onChange(role)} />${words.roles[role]}</label>`,
  )}
  <p class="hint">${text.roleHint}</p>
</fieldset>`;

/**
 * Dialog to invite a user to the team.
 * @param {{ team: any, onClose: () => void, onDone: (member: any) => void }} properties
 */
function Invite({ team, onClose, onDone }) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState("member");
  const invite = async () => onDone(await requests.invite(team.id, { email, role }));
  return html`<${FormDialog} title=${text.inviteTitle} submit=${text.invite} isReady=${email.trim() !== ""} fields=${["email"]} onClose=${onClose} request=${invite}>
    ${(/** @type {any} */ error) => html`
      <${Field} label=${text.email} name="email" error=${error}
        control=${(/** @type {any} */ bound) => html`<input ...${bound} type="email" autocomplete="off" value=${email} onInput=${(/** @type {any} */ { target }) => setEmail(target.value)} />`} />
      <${Roles} options=${["member", "admin"]} value=${role} onChange=${setRole} />`}
  <//>`;
}

/**
 * Dialog with the link of an invitation for which no mail was sent.
 * @param {{ member: any, onClose: () => void }} properties
 */
const Link = ({ member, onClose }) => html`<${Dialog}
  title=${text.linkTitle}
  onClose=${onClose}
  actions=${html`<button class="main" onClick=${onClose}>${text.done}</button>`}
>
  <p>${text.linkText(member.email)}</p>
  <div class="once">
    <input class="value" readonly aria-label=${text.link} value=${member.accept_url} onFocus=${(/** @type {any} */ { target }) => target.select()} />
    <button onClick=${() => copyText(member.accept_url, text.copied)}><${Icon} name="copy" />${words.tokens.copy}</button>
  </div>
<//>`;

/**
 * Dialog to change the role of a member.
 * @param {{ team: any, member: any, onClose: () => void, onDone: (said: string) => void }} properties
 */
function ChangeRole({ team, member, onClose, onDone }) {
  const [role, setRole] = useState(member.role);
  const options = team.role === "owner" ? ["member", "admin", "owner"] : ["member", "admin"];
  const change = async () => {
    await requests.setRole(team.id, member.user_id, role);
    onDone(text.roleSet(nameOf(member), words.roles[role]));
  };
  return html`<${FormDialog} title=${text.changeTitle(nameOf(member))} submit=${text.change} isReady=${role !== member.role} onClose=${onClose} request=${change}>
    ${() => html`<${Roles} options=${options} value=${role} onChange=${setRole} />`}
  <//>`;
}

/**
 * Dialog to remove a member from the team.
 * @param {{ team: any, member: any, onClose: () => void, onDone: (said: string) => void }} properties
 */
function Remove({ team, member, onClose, onDone }) {
  const remove = async () => {
    await requests.removeMember(team.id, member.user_id);
    onDone(text.removed(nameOf(member)));
  };
  return html`<${FormDialog} title=${text.removeTitle(nameOf(member))} submit=${text.remove} isDangerous onClose=${onClose} request=${remove}>
    ${() => html`<p>${text.removeText}</p>`}
  <//>`;
}

/**
 * List item for a member, with buttons if the user may change the member.
 * @param {{ member: any, isChangeable: boolean, onAsk: (action: string, member: any) => void }} properties
 */
function Member({ member, isChangeable, onAsk }) {
  const { email, role, joined_at } = member;
  const name = nameOf(member);
  return html`<li class="entry">
    <div class="what">
      <p class="title">${name}${isSelf(member) && html` <span class="tag">${text.self}</span>`}</p>
      <p class="quiet">${email}${joined_at && html` · ${text.joined} <${Age} time=${joined_at} />`}</p>
    </div>
    <span class="tag">${words.roles[role]}</span>
    ${isChangeable &&
    html`<div class="actions">
      <button aria-label=${`${text.change}: ${name}`} onClick=${() => onAsk("role", member)}>${text.change}</button>
      <button class="danger" aria-label=${`${text.remove}: ${name}`} onClick=${() => onAsk("remove", member)}>${text.remove}</button>
    </div>`}
  </li>`;
}

/**
 * List of the pending invitations.
 * @param {{ invitations: any[], onResend: (invitation: any) => void, onRevoke: (invitation: any) => void }} properties
 */
const Invitations = ({ invitations, onResend, onRevoke }) => html`<div class="subheading"><h2>${text.pending}</h2></div>
  <ul class="items">
    ${invitations.map(
      (invitation) => html`<li key=${invitation.id} class="entry">
        <div class="what"><p class="title">${invitation.email}</p><p class="quiet">${text.expires} <${Age} time=${invitation.expires_at} /></p></div>
        <span class="tag">${words.roles[invitation.role]}</span>
        <button aria-label=${`${text.resend}: ${invitation.email}`} onClick=${() => onResend(invitation)}>${text.resend}</button>
        <button aria-label=${`${text.revoke}: ${invitation.email}`} onClick=${() => onRevoke(invitation)}>${text.revoke}</button>
      </li>`,
    )}
  </ul>`;

/**
 * Members and invitations of a team, with the dialogs to change them.
 * @param {{ place: Place, invitations: any[], reload: () => Promise<void> }} properties
 */
function Members({ place: { team, isAdmin }, invitations, reload }) {
  const [asked, setAsked] = useState(/** @type {{ action: string, member?: any } | null} */ (null));
  const close = () => setAsked(null);
  const done = async (/** @type {string} */ said) => {
    close();
    notify({ text: said });
    await reload();
  };
  const invited = async (/** @type {any} */ member) => {
    if (!member.accept_url) return done(text.invited(member.email));
    setAsked({ action: "link", member });
    await reload();
  };
  const resend = async (/** @type {any} */ invitation) => {
    try {
      await requests.resendInvitation(team.id, invitation.id);
      // Without mail, the service returns the new link.
      const again = (await requests.invitations(team.id)).find((/** @type {any} */ { id }) => id === invitation.id);
      if (again?.accept_url) setAsked({ action: "link", member: again });
      else notify({ text: text.resent(invitation.email) });
      await reload();
    } catch (error) {
      notify({ text: errorText(error), isBad: true });
    }
  };
  // Admins may not change owners, and users cannot change their own role here.
  const isChangeable = (/** @type {any} */ member) => isAdmin && !isSelf(member) && (team.role === "owner" || member.role !== "owner");
  const active = team.members.filter((/** @type {any} */ { status }) => status === "active");
  const { action, member } = asked ?? {};
  return html`<${Heading} title=${shared.sections.names.members} about=${text.about}><${ActionButton} name="invite" rights=${{ isAdmin }} run=${() => setAsked({ action: "invite" })} /><//>
    <ul class="items">
      ${active.map(
        (/** @type {any} */ one) => html`<${Member} key=${one.id} member=${one} isChangeable=${isChangeable(one)} onAsk=${(/** @type {string} */ action, /** @type {any} */ member) => setAsked({ action, member })} />`,
      )}
    </ul>
    ${invitations.length > 0 && html`<${Invitations} invitations=${invitations} onResend=${resend} onRevoke=${(/** @type {any} */ member) => setAsked({ action: "revoke", member })} />`}
    ${action === "invite" && html`<${Invite} team=${team} onClose=${close} onDone=${invited} />`}
    ${action === "link" && html`<${Link} member=${member} onClose=${close} />`}
    ${action === "role" && html`<${ChangeRole} team=${team} member=${member} onClose=${close} onDone=${done} />`}
    ${action === "remove" && html`<${Remove} team=${team} member=${member} onClose=${close} onDone=${done} />`}
    ${action === "revoke" &&
    html`<${FormDialog} title=${text.revokeTitle(member.email)} submit=${text.revoke} isDangerous onClose=${close}
      request=${async () => {
        await requests.revokeInvitation(team.id, member.id);
        await done(text.revoked);
      }}>${() => html`<p>${text.revokeText}</p>`}<//>`}`;
}

/**
 * Loads the pending invitations of a team, which only owners and admins may see.
 * @param {Place} place
 */
const read = ({ team, isAdmin }) => (isAdmin ? requests.invitations(team.id) : Promise.resolve([]));

/** Section with the members of a team. @param {{ team: string }} properties */
export function Content({ team }) {
  const content = (/** @type {Place} */ place, /** @type {any} */ data, /** @type {any} */ reload) =>
    html`<${Members} place=${place} invitations=${data} reload=${reload} />`;
  return html`<${Frame} name="members" team=${team} read=${read} content=${content} />`;
}
