// Dialogs: a new service token, and the value of a token, which is shown once.

import { useEffect, useState } from "preact/hooks";

import { api } from "../api.js";
import { Icon, html } from "../parts/html.js";
import { Dialog } from "../parts/messages.js";
import { protect } from "../routes.js";
import { requests } from "./api.js";
import { Field, FormDialog } from "./form.js";
import { copyText } from "./parts.js";
import { words } from "./words.js";

const text = words.tokens;

/** Days until a token expires; 0 if it does not expire. */
const DAYS = [30, 90, 365, 0];

/**
 * Returns a list with the item added, or removed if the list contains it.
 * @param {any[]} list @param {any} item
 */
const toggled = (list, item) => (list.includes(item) ? list.filter((other) => other !== item) : [...list, item]);

/**
 * Loads the environments of a project, unless it is the project `known`.
 * @param {string} id @param {any} known project that is loaded already
 */
function useEnvironments(id, known) {
  const [environments, setEnvironments] = useState(/** @type {any[]} */ ([]));
  useEffect(() => {
    let isCurrent = true;
    const show = (/** @type {any} */ project) => isCurrent && setEnvironments(project.environments);
    if (known?.id === id) show(known);
    else api.project(id).then(show, () => show({ environments: [] }));
    return () => void (isCurrent = false);
  }, [id]);
  return environments;
}

/**
 * Labelled group of checkboxes.
 * @param {{ label: string, options: any[], isOn: (option: any) => boolean, onToggle: (option: any) => void, hint?: string }} properties
 */
const Checks = ({ label, options, isOn, onToggle, hint }) => html`<fieldset class="options">
  <legend>${label}</legend>
  <div class="checks">
    ${options.map(
      (option) => html`<label key=${option.id} class="check">
        <input type="checkbox" checked=${isOn(option)} onChange=${() => onToggle(option)} />${option.name}
      </label>`,
    )}
  </div>
  ${hint && html`<p class="hint">${hint}</p>`}
</fieldset>`;

/**
 * Dialog to create a service token.
 * @param {{
 *   place: import("./parts.js").Place, projects: any[], onClose: () => void, onDone: (token: any) => void
 * }} properties
 */
export function NewToken({ place, projects, onClose, onDone }) {
  const [form, setForm] = useState({
    name: "",
    project: place.project?.id ?? projects[0].id,
    environments: /** @type {string[]} */ ([]),
    permissions: ["read"],
    days: 90,
    networks: "",
  });
  const change = (/** @type {Partial<typeof form>} */ values) => setForm((current) => ({ ...current, ...values }));
  const environments = useEnvironments(form.project, place.project);
  const create = async () => {
    const networks = form.networks.split(/[\s,]+/).filter(Boolean);
    onDone(
      await requests.createToken({
        name: form.name,
        team_id: place.team.id,
        project_ids: [form.project],
        environments: form.environments.length ? form.environments : undefined,
        permissions: form.permissions,
        expires_in_days: form.days || undefined,
        ip_allowlist: networks.length ? networks : undefined,
      }),
    );
  };
  const fields = ["name", "ip_allowlist", "expires_in_days"];
  const onName = (/** @type {any} */ { target }) => change({ name: target.value });
  const onNetworks = (/** @type {any} */ { target }) => change({ networks: target.value });
  const onProject = (/** @type {any} */ { target }) => change({ project: target.value, environments: [] });
  const onDays = (/** @type {any} */ { target }) => change({ days: Number(target.value) });
  return html`<${FormDialog}
    title=${text.createTitle}
    submit=${text.create}
    isReady=${form.name.trim() !== "" && form.permissions.length > 0}
    fields=${fields}
    onClose=${onClose}
    request=${create}
  >
    ${(/** @type {any} */ error) => html`
      <${Field} label=${text.name} name="name" hint=${text.nameHint} error=${error}
        control=${(/** @type {any} */ bound) => html`<input ...${bound} type="text" autocomplete="off" value=${form.name} onInput=${onName} />`} />
      <${Field} label=${text.project} name="project_ids" error=${error}
        control=${(/** @type {any} */ bound) => html`<select ...${bound} value=${form.project} onChange=${onProject}>
          ${projects.map(({ id, name }) => html`<option key=${id} value=${id} selected=${id === form.project}>${name}</option>`)}
        </select>`} />
      <${Checks} label=${text.environments} hint=${text.environmentsHint} options=${environments}
        isOn=${(/** @type {any} */ { id }) => form.environments.includes(id)}
        onToggle=${(/** @type {any} */ { id }) => change({ environments: toggled(form.environments, id) })} />
      <${Checks} label=${text.may} options=${[{ id: "read", name: text.mayRead }, { id: "write", name: text.mayWrite }]}
        isOn=${(/** @type {any} */ { id }) => form.permissions.includes(id)}
        onToggle=${(/** @type {any} */ { id }) => change({ permissions: toggled(form.permissions, id) })} />
      <${Field} label=${text.expiry} name="expires_in_days" error=${error}
        control=${(/** @type {any} */ bound) => html`<select ...${bound} onChange=${onDays}>
          ${DAYS.map((days) => html`<option key=${days} value=${days} selected=${days === form.days}>${days ? text.days(days) : text.noExpiry}</option>`)}
        </select>`} />
      <${Field} label=${text.networks} name="ip_allowlist" hint=${text.networksHint} error=${error}
        control=${(/** @type {any} */ bound) => html`<input ...${bound} type="text" autocomplete="off" value=${form.networks} onInput=${onNetworks} />`} />`}
  <//>`;
}

/**
 * Dialog with a value that is shown once. It stays open until the user confirms having stored it.
 * @param {{ title: string, about: string, label: string, value: string, copied: string, onClose: () => void }} properties
 */
export function Once({ title, about, label, value, copied, onClose }) {
  // Closing by accident would lose the value, so only the button closes the dialog, and leaving the screen asks.
  useEffect(() => protect({ exist: () => true, question: text.leave }), []);
  const actions = html`<button class="main" onClick=${onClose}>${text.stored}</button>`;
  return html`<${Dialog} title=${title} actions=${actions}>
    <p>${about}</p>
    <div class="once">
      <input class="value" readonly aria-label=${label} value=${value} onFocus=${(/** @type {any} */ { target }) => target.select()} />
      <button onClick=${() => copyText(value, copied)}><${Icon} name="copy" />${text.copy}</button>
    </div>
  <//>`;
}

/** Dialog with the text of a new service token. @param {{ token: any, onClose: () => void }} properties */
export const TokenValue = ({ token, onClose }) => html`<${Once}
  title=${text.shownTitle}
  about=${text.shownText}
  label=${text.value}
  value=${token.token}
  copied=${text.copied}
  onClose=${onClose}
/>`;
