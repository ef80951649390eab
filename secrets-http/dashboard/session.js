// The signed-in user.

import { signal } from "@preact/signals";

import { api, whenSignedOut } from "./api.js";
import { base } from "./routes.js";

/** @typedef {"loading" | "in" | "out" | "ended" | "failed"} State */

/** State of the session. `ended` shows a sign-in dialog over the screen, `out` a sign-in page. */
export const state = signal(/** @type {State} */ ("loading"));

/** Account of the signed-in user. */
export const person = signal(/** @type {any} */ (null));

/** Settings of browser sign-in; `null` until they are known. */
export const signIn = signal(/** @type {any} */ (null));

/** Error of the first request, if the state is `failed`. */
export const failure = signal(/** @type {any} */ (null));

/** Tells other windows that the user signed in or out. */
const channel = new BroadcastChannel("secrets-session");

/** Loads the user's account, and sets the state. */
export async function load() {
  try {
    const me = await api.me();
    // Staged changes belong to one user.
    if (person.value && person.value.id !== me.id) return location.reload();
    person.value = me;
    if (state.value !== "in") channel.postMessage("in");
    state.value = "in";
  } catch (error) {
    if (/** @type {any} */ (error).status === 401) return;
    failure.value = error;
    if (state.value === "loading") state.value = "failed";
  }
}

async function loadSignIn() {
  signIn.value = await api.signIn().catch(() => ({ browser_sign_in: false, dev: false }));
}

/** Returns the URL of the sign-in page, which leads back to this page. */
export const signInPath = () => `${base}/sign-in?return_to=${encodeURIComponent(location.pathname + location.search)}`;

/** Signs the user out. */
export async function signOut() {
  await api.signOut();
  channel.postMessage("out");
  location.assign(`${base}/`);
}

whenSignedOut(() => {
  state.value = state.value === "loading" || state.value === "out" ? "out" : "ended";
  if (!signIn.value) loadSignIn();
});

channel.addEventListener("message", ({ data }) => {
  if (data === "out" && state.value === "in") state.value = "ended";
  if (data === "in") load();
});
