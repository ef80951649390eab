// Dialog: a new rotation.

import { useState } from "preact/hooks";

import { html } from "../parts/html.js";
import { sentence } from "../parts/messages.js";
import { requests } from "./api.js";
import { Field, FormDialog, RequestError, useRequest } from "./form.js";
import { words as text } from "./words-rotations.js";

/** Names of the fields that show their errors beside them. */
const FIELDS = ["name", "connection.host", "connection.port", "connection.database", "connection.admin_username", "connection.admin_password", "connection.ssl_mode", "connection.ca_certificate", "rotation_interval_days"];

const EMPTY = { name: "", engine: "postgresql", host: "", port: "", database: "", user: "", password: "", tls: "verify-full", certificate: "", days: "30" };

/** Returns the database that the form describes, as the service expects it. @param {typeof EMPTY} form */
const targetOf = ({ engine, host, port, database, user, password, tls, certificate }) => ({
  integration_type: engine,
  connection_method: "direct",
  connection: {
    host,
    port: port ? Number(port) : undefined,
    database,
    admin_username: user,
    admin_password: password,
    ssl_mode: tls,
    ca_certificate: tls.startsWith("verify") && certificate.trim() ? certificate : undefined,
  },
});

/**
 * Labelled text field of the form.
 * @param {{ label: string, name: string, error: any, value: string, onInput: (event: any) => void, type?: string, hint?: string }} properties
 */
const Text = ({ label, name, error, value, onInput, type = "text", hint }) => html`<${Field} label=${label} name=${name} hint=${hint} error=${error}
  control=${(/** @type {any} */ bound) => html`<input ...${bound} type=${type} autocomplete=${type === "password" ? "new-password" : "off"} spellcheck=${false} value=${value} onInput=${onInput} />`} />`;

/**
 * Labelled selection field of the form.
 * @param {{ label: string, name?: string, error?: any, options: string[][], value: string, onChange: (event: any) => void }} properties
 */
const Choice = ({ label, name = "", error, options, value, onChange }) => html`<${Field} label=${label} name=${name} error=${error} control=${(/** @type {any} */ bound) => html`<select ...${bound} onChange=${onChange}>
  ${options.map(([id, name]) => html`<option key=${id} value=${id} selected=${id === value}>${name}</option>`)}
</select>`} />`;

/**
 * Button that tests the connection to the database, and the result of the test.
 * @param {{ isReady: boolean, test: () => Promise<{ success: boolean, message: string }> }} properties
 */
function Test({ isReady, test }) {
  const [result, setResult] = useState(/** @type {{ success: boolean, message: string } | null} */ (null));
  const { isBusy, error, run } = useRequest(async () => {
    setResult(null);
    setResult(await test());
  });
  return html`<div class="tested">
      <button type="button" disabled=${!isReady || isBusy} onClick=${() => run(undefined)}>${text.test}</button>
      <span role="status" class=${result && !result.success ? "bad" : ""}>${isBusy ? text.testing : result && sentence(result.message)}</span>
    </div>
    <${RequestError} error=${error} />`;
}

/**
 * Dialog to create a rotation.
 * @param {{ project: any, environments: any[], onClose: () => void, onDone: (name: string) => void }} properties
 */
export function NewRotation({ project, environments, onClose, onDone }) {
  const [form, setForm] = useState(EMPTY);
  const [environment, setEnvironment] = useState(environments[0].id);
  const set = (/** @type {keyof typeof EMPTY} */ field) => (/** @type {any} */ { target }) => setForm((current) => ({ ...current, [field]: target.value }));
  const isTarget = [form.host, form.database, form.user, form.password].every((value) => value.trim() !== "");
  const create = async () => {
    const { name, days } = form;
    await requests.createRotation(project.slug, environment, { ...targetOf(form), name, rotation_interval_days: Number(days) });
    onDone(name);
  };
  const names = environments.map(({ id, name }) => [id, name]);
  return html`<${FormDialog}
    title=${text.create}
    submit=${text.create}
    isReady=${isTarget && form.name.trim() !== "" && Number(form.days) > 0}
    fields=${FIELDS}
    onClose=${onClose}
    request=${create}
  >
    ${(/** @type {any} */ error) => html`
      <${Choice} label=${text.environment} options=${names} value=${environment} onChange=${(/** @type {any} */ { target }) => setEnvironment(target.value)} />
      <${Text} label=${text.name} name="name" hint=${text.nameHint} error=${error} value=${form.name} onInput=${set("name")} />
      <${Choice} label=${text.engine} options=${text.engines} value=${form.engine} onChange=${set("engine")} />
      <div class="pair">
        <${Text} label=${text.host} name="connection.host" error=${error} value=${form.host} onInput=${set("host")} />
        <${Text} label=${text.port} name="connection.port" type="number" error=${error} value=${form.port} onInput=${set("port")} />
      </div>
      <${Text} label=${text.database} name="connection.database" error=${error} value=${form.database} onInput=${set("database")} />
      <${Text} label=${text.user} name="connection.admin_username" error=${error} value=${form.user} onInput=${set("user")} />
      <${Text} label=${text.password} name="connection.admin_password" type="password" hint=${text.passwordHint} error=${error} value=${form.password} onInput=${set("password")} />
      <${Choice} label=${text.tls} name="connection.ssl_mode" error=${error} options=${text.tlsModes} value=${form.tls} onChange=${set("tls")} />
      ${form.tls.startsWith("verify") &&
      html`<${Field} label=${text.certificate} name="connection.ca_certificate" hint=${text.certificateHint} error=${error}
        control=${(/** @type {any} */ bound) => html`<textarea ...${bound} class="mono" rows="3" autocomplete="off" spellcheck=${false} value=${form.certificate} onInput=${set("certificate")}></textarea>`} />`}
      <${Test} isReady=${isTarget} test=${() => requests.testRotation(project.slug, environment, targetOf(form))} />
      <${Text} label=${text.interval} name="rotation_interval_days" type="number" error=${error} value=${form.days} onInput=${set("days")} />`}
  <//>`;
}
