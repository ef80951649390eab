// Requests to the API, and the signed-in user. This is the only module that calls `fetch`.

import { signal } from "@preact/signals";

import { base, leaveFor } from "./routes.js";
import { words } from "./words.js";

/** Time limit of a request, in ms. */
const TIMEOUT = 30_000;

/** Error of a request. `status` is 0 if there was no response. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   * @param {{ code?: string, details?: any, requestId?: string | null, retryAfter?: number }} [rest]
   */
  constructor(status, message, { code, details, requestId, retryAfter } = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }
}

/**
 * Sends a request, and returns its response.
 * @param {string} method
 * @param {string} path below `/api/v1`
 * @param {{ body?: unknown, etag?: string | null, isText?: boolean }} [options] with `isText`, the body of the response is its text
 * @returns {Promise<{ status: number, body: any, etag: string | null, next?: string | null }>}
 */
export async function send(method, path, { body, etag, isText } = {}) {
  /** @type {Record<string, string>} */
  const headers = { "x-secrets-page": "1" };
  if (body !== undefined) headers["content-type"] = "application/json";
  if (etag) headers["if-none-match"] = etag;
  /** @type {Response} */
  let response;
  try {
    response = await fetch(`${base}/api/v1${path}`, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT),
    });
  } catch {
    throw new ApiError(0, words.errors.network);
  }
  if (response.status === 304) return { status: 304, body: null, etag: etag ?? null };
  const text = await response.text().catch(() => {
    throw new ApiError(0, words.errors.network);
  });
  const answer = isText && response.ok ? text : parsed(text);
  if (response.ok) return { status: response.status, body: answer, next: response.headers.get("x-next-cursor"), etag: response.headers.get("etag") };
  if (response.status === 401) signedOut();
  throw new ApiError(response.status, answer?.error ?? words.errors.unknown, {
    code: answer?.code,
    details: answer?.details,
    requestId: response.headers.get("x-request-id"),
    retryAfter: Number(response.headers.get("retry-after")) || undefined,
  });
}

/** Parses JSON; `null` if it is invalid. @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const segment = encodeURIComponent;

/** Returns the API path of an environment's secrets. @param {string} project @param {string} environment */
export const secretsOf = (project, environment) => `/projects/${segment(project)}/environments/${segment(environment)}/secrets`;

export const api = {
  me: async () => (await send("GET", "/users/me")).body,

  /** Reads the sign-in method for browsers. */
  signIn: async () => (await send("GET", "/auth/config")).body,

  signOut: async () => void (await send("POST", "/auth/sign-out")),

  projects: async () => (await send("GET", "/projects")).body.projects,

  /** @param {string} project */
  project: async (project) => (await send("GET", `/projects/${segment(project)}`)).body,

  /**
   * Compares the environments of a project; with `equal`, also their values, which the audit log records.
   * @param {string} project
   * @param {{ equal?: boolean, etag?: string | null, environments?: string[] }} options `environments` are the IDs of
   *   the only environments to compare, with `equal`
   */
  compare: (project, { equal = false, etag = null, environments = [] }) =>
    send("GET", `/projects/${segment(project)}/compare${equal ? "?equal=true" : ""}${environments.length ? `&environments=${environments.join()}` : ""}`, { etag }),

  /**
   * Reads a secret with its value. The audit log records it.
   * @param {string} project @param {string} environment @param {string} key
   */
  secret: async (project, environment, key) =>
    (await send("GET", `${secretsOf(project, environment)}/${segment(key)}`)).body.secret,

  /**
   * Changes secrets of several environments: makes all changes or none.
   * @param {string} project @param {any[]} changes @param {{ isDryRun?: boolean }} [options]
   */
  change: async (project, changes, { isDryRun = false } = {}) =>
    (await send("POST", `/projects/${segment(project)}/changes`, { body: { changes, dry_run: isDryRun } })).body,

  /**
   * Opens the event stream of a project. The request has no header `x-secrets-page`.
   * @param {string} project
   */
  watch: (project) => new EventSource(`${base}/api/v1/projects/${segment(project)}/watch`),
};

/** @typedef {"loading" | "in" | "out" | "ended" | "failed"} Session */

/** State of the session. `ended` shows a sign-in dialog over the screen, `out` a sign-in page. */
export const session = signal(/** @type {Session} */ ("loading"));

/** Account of the signed-in user. */
export const person = signal(/** @type {any} */ (null));

/** Settings of browser sign-in; `null` until they are known. */
export const signIn = signal(/** @type {any} */ (null));

/** Error of the first request, if the session is `failed`. */
export const sessionError = signal(/** @type {any} */ (null));

/** Tells other windows that the user signed in or out. */
const channel = new BroadcastChannel("secrets-session");

/** Loads the user's account, and sets the state. */
export async function loadSession() {
  try {
    const me = await api.me();
    // Staged changes belong to one user.
    if (person.value && person.value.id !== me.id) return leaveFor(location.href);
    person.value = me;
    if (session.value !== "in") channel.postMessage("in");
    session.value = "in";
  } catch (error) {
    if (/** @type {any} */ (error).status === 401) return;
    sessionError.value = error;
    if (session.value === "loading") session.value = "failed";
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
  leaveFor(`${base}/`);
}

/** Asks the user to sign in, after the service has refused the session. */
function signedOut() {
  session.value = session.value === "loading" || session.value === "out" ? "out" : "ended";
  if (!signIn.value) loadSignIn();
}

channel.addEventListener("message", ({ data }) => {
  if (data === "out" && session.value === "in") session.value = "ended";
  if (data === "in") loadSession();
});
