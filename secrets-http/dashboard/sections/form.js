// Fields with their errors, and dialogs that send a request.

import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";

import { html } from "../parts/html.js";
import { Dialog, errorText, sentence } from "../parts/messages.js";
import { words } from "../words.js";

/**
 * Returns the message about a field from a request's error.
 * @param {any} error @param {string} name
 */
const ofField = (error, name) =>
  error?.details?.fields?.find?.((/** @type {any} */ { field }) => field === name || field.startsWith(`${name}[`) || field.startsWith(`${name}.`));

/**
 * Form control with its label, hint and error. `control` renders it with the attributes that connect them.
 * @param {{ label: string, name: string, hint?: any, error?: any, control: (bound: Record<string, any>) => any }} properties
 */
export function Field({ label, name, hint, error, control }) {
  const id = useId();
  const found = ofField(error, name);
  const described = [hint && `${id}-hint`, found && `${id}-error`].filter(Boolean).join(" ");
  const bound = { id, name, "aria-describedby": described || undefined, "aria-invalid": found ? "true" : undefined };
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${control(bound)}
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    ${found && html`<p class="bad" id=${`${id}-error`}>${label} ${found.message}</p>`}
  </div>`;
}

/**
 * Text field in which the user types a name to confirm an action.
 * @param {{ label: string, error: any, value: string, onChange: (value: string) => void }} properties
 */
export const Typed = ({ label, error, value, onChange }) => html`<${Field} label=${label} name="confirm" error=${error}
  control=${(/** @type {any} */ bound) => html`<input ...${bound} type="text" autocomplete="off" spellcheck=${false} value=${value} onInput=${(/** @type {any} */ { target }) => onChange(target.value)} />`} />`;

/**
 * Error of a request, without the errors that are shown beside the fields in `fields`.
 * @param {{ error: any, fields?: string[] }} properties
 */
export function RequestError({ error, fields = [] }) {
  if (!error) return null;
  const isAtField = fields.some((name) => ofField(error, name));
  const isKnown = error.status === 0 || error.code === "rate_limited";
  return html`<div class="failure" role="alert">
    ${isAtField ? html`<p>${words.form.check}</p>` : html`<p>${isKnown ? errorText(error) : sentence(error.message)}</p>`}
    ${error.requestId && html`<p class="quiet">${words.errors.requestId} <code>${error.requestId}</code></p>`}
  </div>`;
}

/**
 * Returns the state of a request and the function that sends it. Only one request runs at a time.
 * @param {(input: any) => Promise<unknown>} request
 */
export function useRequest(request) {
  const [state, setState] = useState(/** @type {{ isBusy: boolean, error?: any }} */ ({ isBusy: false }));
  const isBusy = useRef(false);
  const run = async (/** @type {any} */ input) => {
    if (isBusy.current) return;
    isBusy.current = true;
    setState({ isBusy: true });
    try {
      await request(input);
      setState({ isBusy: false });
    } catch (error) {
      setState({ isBusy: false, error });
    } finally {
      isBusy.current = false;
    }
  };
  return { ...state, run };
}

/**
 * Dialog with a form that sends a request, and closes after success.
 * @param {{
 *   title: string, submit: string, isDangerous?: boolean, isReady?: boolean, fields?: string[], onClose: () => void,
 *   request: () => Promise<unknown>, children?: (error: any) => any
 * }} properties
 */
export function FormDialog({ title, submit, isDangerous = false, isReady = true, fields, onClose, request, children }) {
  const id = useId();
  const { isBusy, error, run } = useRequest(request);
  useLayoutEffect(() => {
    const [first] = document.querySelectorAll(`[id="${id}"] :is(input, select)`);
    if (first instanceof HTMLElement) first.focus();
  }, []);
  const send = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (isReady) run(undefined);
  };
  const actions = html`<button type="button" onClick=${onClose}>${words.cancel}</button>
    <button class=${isDangerous ? "danger" : "main"} form=${id} disabled=${!isReady || isBusy}>${submit}</button>`;
  return html`<${Dialog} title=${title} onClose=${onClose} actions=${actions}>
    <form id=${id} class="form" onSubmit=${send} novalidate>
      ${children?.(error)}
      <${RequestError} error=${error} fields=${fields} />
    </form>
  <//>`;
}
