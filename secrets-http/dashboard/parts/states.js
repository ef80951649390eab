// Screens without content: loading, errors, signed out.

import { useEffect, useState } from "preact/hooks";

import { projectsPath } from "../routes.js";
import { load, signIn, signInPath } from "../session.js";
import { words } from "../words.js";
import { Dialog } from "./dialog.js";
import { html } from "./html.js";

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
  const actions = html`<button onClick=${load}>${words.signedOut.againDone}</button>`;
  return html`<${Dialog} title=${words.signedOut.again} onClose=${load} hasClose=${false} actions=${actions}>
    <p>${words.signedOut.againText}</p>
    <${SignInWays} isAgain />
  <//>`;
}
