// Messages to the user: notices, dialogs, and screens without content (loading, errors, signed out). Code that is loaded
// after the first screen is loaded here too, because a failure must become a message.

import { signal } from "@preact/signals";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";

import { loadSession, signIn, signInPath } from "../api.js";
import { projectsPath } from "../routes.js";
import { words } from "../words.js";
import { Icon, html } from "./html.js";

const SHOWN_FOR = 8_000;

/** @typedef {{ text: string, isBad?: boolean, action?: { label: string, run: () => void } }} Notice */

const notice = signal(/** @type {Notice | null} */ (null));
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** Shows a notice, and removes the previous one. @param {Notice} next */
export function notify(next) {
  notice.value = next;
  clearTimeout(timer);
  timer = setTimeout(dismiss, SHOWN_FOR);
}

export function dismiss() {
  clearTimeout(timer);
  notice.value = null;
}

/** Paths of the stylesheets of dialogs and forms. */
export const DIALOG_STYLES = ["windows/dialogs.css"];

/** Paths of the stylesheets of sections. They are always added in this order, so that the same rules apply. */
export const SECTION_STYLES = [...DIALOG_STYLES, "sections/sections.css"];

/** Stylesheets that are loaded or loading, by path. @type {Map<string, Promise<void>>} */
const styles = new Map();

/** Loads a stylesheet, and adds it after the others. @param {string} path */
function loadStyle(path) {
  const known = styles.get(path);
  if (known) return known;
  const link = document.createElement("link");
  const loaded = new Promise((resolve, reject) => {
    link.addEventListener("load", () => resolve(undefined));
    link.addEventListener("error", () => {
      // The next call tries again.
      link.remove();
      styles.delete(path);
      reject(new Error(path));
    });
  });
  link.rel = "stylesheet";
  link.href = new URL(`../${path}`, import.meta.url).href;
  document.head.append(link);
  styles.set(path, loaded);
  return loaded;
}

/**
 * Loads a module that is not part of the first screen, and its stylesheets. Fails without a connection, and if the
 * service has been updated since the page was loaded.
 * @template T @param {() => Promise<T>} load @param {string[]} [paths] stylesheets
 * @returns {Promise<T>}
 */
export async function loadLate(load, paths = []) {
  const [module] = await Promise.all([load(), ...paths.map(loadStyle)]);
  return module;
}

/**
 * Like `loadLate`, for an action of the user: a failure is shown as a notice, and returns `null`.
 * @template T @param {() => Promise<T>} load @param {string[]} [paths] stylesheets
 * @returns {Promise<T | null>}
 */
export async function late(load, paths) {
  try {
    return await loadLate(load, paths);
  } catch {
    const action = { label: words.reload, run: () => location.reload() };
    notify({ text: `${words.errors.late}. ${words.errors.lateHint}`, isBad: true, action });
    return null;
  }
}

export function Notices() {
  const shown = notice.value;
  const action = shown?.action;
  return html`<div class="notices" role="status">
    ${shown &&
    html`<div class=${shown.isBad ? "notice bad" : "notice"}>
      <span>${shown.text}</span>
      ${action && html`<button class="link" onClick=${action.run}>${action.label}</button>`}
      <button class="bare" aria-label=${words.close} onClick=${dismiss}><${Icon} name="close" /></button>
    </div>`}
  </div>`;
}

/**
 * Modal dialog, which gives the focus back when it closes.
 * @param {{ title: string, onClose?: () => void, onConfirm?: (event: Event) => void, children?: any, actions?: any,
 *   kind?: string }} properties without `onClose`, only the actions close the dialog; `onConfirm` is called for Ctrl-Enter
 */
export function Dialog({ title, onClose, onConfirm, children, actions, kind = "" }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const id = useId();
  // Cleaned up before the page is painted, so that the focus returns when the dialog closes.
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      dialog.current?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const cancel = (/** @type {Event} */ event) => {
    event.preventDefault();
    onClose?.();
  };
  // Browsers without `closedby` close the dialog at the second Esc. An unmounted dialog has no element.
  const closed = () => dialog.current && (onClose ? onClose() : dialog.current.showModal());
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (!onConfirm || event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    onConfirm(event);
  };
  return html`<dialog ref=${dialog} class=${kind} aria-labelledby=${id} closedby=${onClose ? undefined : "none"}
    onCancel=${cancel} onClose=${closed} onKeyDown=${onKeyDown}>
    <header>
      <h2 id=${id}>${title}</h2>
      ${onClose && html`<button class="bare" aria-label=${words.close} onClick=${onClose}><${Icon} name="close" /></button>`}
    </header>
    <div class="content" tabindex="0">${children}</div>
    ${actions && html`<footer>${actions}</footer>`}
  </dialog>`;
}

/** Time after which a skeleton is shown for loading content, in ms. */
const SKELETON_DELAY = 150;

/** Skeleton: rows without text, shown while the content is loading. @param {{ rows: number }} properties */
export function Skeleton({ rows }) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), SKELETON_DELAY);
    return () => clearTimeout(timer);
  }, []);
  return html`<div class=${isLate ? "skeleton" : "skeleton early"} role="status">
    <span class="unseen">${words.loading}</span>
    ${Array.from({ length: rows }, (_, row) => html`<div key=${row} class="line"></div>`)}
  </div>`;
}

/** Text instead of content. @param {{ title: string, children?: any, actions?: any }} properties */
export function Empty({ title, children, actions }) {
  return html`<section class="state">
    <h2>${title}</h2>
    ${children}
    ${actions && html`<div class="actions">${actions}</div>`}
  </section>`;
}

/** Returns a request's error as text for the user. @param {any} error */
export function errorText(error) {
  if (error.status === 0) return words.errors.network;
  if (error.status === 403 || error.status === 404) return words.errors.gone;
  if (error.status === 429) return words.errors.busy;
  return sentence(error.message ?? words.errors.unknown);
}

/** @param {string} text */
export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Error instead of content. @param {{ error: any, onRetry: () => void }} properties */
export function Failed({ error, onRetry }) {
  // The same message for a missing resource and for one that the user may not access.
  const isGone = error.status === 403 || error.status === 404;
  return html`<${Empty}
    title=${errorText(error)}
    actions=${isGone
      ? html`<a class="button" href=${projectsPath}>${words.errors.toProjects}</a>`
      : html`<button class="main" onClick=${onRetry}>${words.retry}</button>`}
  >
    ${isGone && html`<p>${words.errors.goneHint}</p>`}
    ${error.status === 0 && html`<p>${words.errors.networkHint}</p>`}
    ${error.requestId && html`<p class="quiet">${words.errors.requestId} <code>${error.requestId}</code></p>`}
  <//>`;
}

/**
 * Button to sign in, or text if this service has no browser sign-in.
 * @param {{ isAgain?: boolean }} properties
 */
function SignInWays({ isAgain = false }) {
  const settings = signIn.value;
  if (!settings) return html`<${Skeleton} rows=${1} />`;
  if (settings.dev) return html`<p>${words.signedOut.dev}</p><pre><code>secrets-http dev link</code></pre>`;
  if (!settings.browser_sign_in) return html`<p>${words.signedOut.none}</p>`;
  const label = settings.issuer ? words.signedOut.with(settings.issuer) : words.signedOut.button;
  return html`<p><a class="button main" href=${signInPath()} target=${isAgain ? "_blank" : undefined}>${label}</a></p>`;
}

export function SignedOut() {
  return html`<main class="alone">
    <section class="card">
      <h1>${words.signedOut.title}</h1>
      <p>${words.signedOut.text}</p>
      <${SignInWays} />
    </section>
  </main>`;
}

/** Dialog over the current screen that asks the user to sign in again. */
export function Ended() {
  const actions = html`<button onClick=${loadSession}>${words.signedOut.againDone}</button>`;
  return html`<${Dialog} title=${words.signedOut.again} actions=${actions}>
    <p>${words.signedOut.againText}</p>
    <${SignInWays} isAgain />
  <//>`;
}
