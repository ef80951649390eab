// HTTP client of a service, with the methods of a session. Needs `fetch` and no WebAssembly module.

import { bound, MAX_TIMEOUT, options, text } from "./arguments.js";
import { ENDPOINTS } from "./endpoints.js";
import { settings } from "./environment.js";
import { converted, invalid, reason, SecretsError } from "./errors.js";
import { nameOperations } from "./names.js";
import { authorization, baseOf, requestOf } from "./request.js";
import { contentOf, failure, isOutput, outputOf } from "./response.js";
import { retryDelay } from "./retry.js";
import { pause, within } from "./within.js";

export { SecretsError } from "./errors.js";

const CLIENT_OPTIONS = ["token", "timeout", "totalTimeout", "maxResponseSize", "fetch"];

// Defaults, in milliseconds and bytes.
const TIMEOUT = 60_000;
const TOTAL_TIMEOUT = 90_000;
const MAX_RESPONSE_SIZE = 256 * 1024 * 1024;

export class Client {
  #base;
  #token;
  #timeout;
  #totalTimeout;
  #maxResponseSize;
  #fetch;

  constructor(url, given = {}) {
    const chosen = options("Client", given, CLIENT_OPTIONS);
    this.#base = baseOf(url);
    if ("token" in chosen && !["string", "function"].includes(typeof chosen.token)) {
      throw invalid("token must be a string or a function: leave the option out to send no token");
    }
    // Checked here as well, so that a malformed token is refused at once.
    if (typeof chosen.token === "string") authorization(chosen.token);
    if (chosen.fetch !== undefined && typeof chosen.fetch !== "function") throw invalid("fetch must be a function");
    this.#token = chosen.token;
    this.#timeout = bound(chosen, "timeout", TIMEOUT, MAX_TIMEOUT);
    this.#totalTimeout = bound(chosen, "totalTimeout", TOTAL_TIMEOUT, MAX_TIMEOUT);
    this.#maxResponseSize = bound(chosen, "maxResponseSize", MAX_RESPONSE_SIZE, Number.MAX_SAFE_INTEGER);
    this.#fetch = chosen.fetch;
  }

  static fromEnv(env, given = {}) {
    const chosen = options("Client.fromEnv", given, CLIENT_OPTIONS.filter((name) => name !== "token"));
    const { url, options: credential } = settings(env);
    return new this(url, { ...chosen, ...credential });
  }

  async call(name, input = {}, given = {}) {
    const { signal } = options("call", given, ["signal"]);
    signal?.throwIfAborted();
    if (!Object.hasOwn(ENDPOINTS, text(name, "name"))) throw new SecretsError("not_found", "no such operation");
    const request = requestOf(name, ENDPOINTS[name], input);
    const { response, error } = await this.#send(request, signal);
    // `converted` creates a new error, whose stack includes the caller.
    if (error) throw converted(error);
    return outputOf(request, response);
  }

  // Sends a request until it succeeds, must not be retried, or the total time is over. Returns the response
  // or the error of the request. Throws the reason of `signal` and the error of the token function.
  async #send(request, signal) {
    const end = performance.now() + this.#totalTimeout;
    for (let attempts = 1; ; attempts += 1) {
      const left = Math.max(1, end - performance.now());
      const outcome = await this.#attempt(request, Math.min(this.#timeout, left), signal);
      const delay = outcome.error && retryDelay(outcome.error, request, attempts, end - performance.now());
      if (delay === undefined) return outcome;
      await pause(delay, signal);
    }
  }

  async #attempt(request, timeout, signal) {
    const message = `no response from ${this.#base.origin} within ${Math.round(timeout)} ms`;
    const timedOut = new SecretsError("unavailable", message, { code: "timeout" });
    try {
      const outcome = await within(timeout, signal, () => timedOut, (signal) => this.#exchange(request, signal));
      return outcome.error || isOutput(request, outcome.response) ? outcome : { error: failure(outcome.response) };
    } catch (error) {
      if (error === timedOut) return { error };
      throw error;
    }
  }

  async #exchange({ method, target, body }, signal) {
    const headers = { accept: "application/json" };
    if (this.#token !== undefined) {
      headers.authorization = authorization(typeof this.#token === "function" ? await this.#token() : this.#token);
      // Nothing is sent if the token came after the timeout.
      signal.throwIfAborted();
    }
    const init = { method, headers, signal, ...fixedInit() };
    if (body !== undefined) {
      headers["content-type"] = "application/json";
      init.body = body;
    }
    // Browsers refuse a call of `fetch` as a method of another object.
    const fetch = this.#fetch ?? globalThis.fetch;
    try {
      const response = await fetch(`${this.#base.href}${target}`, init);
      return { response: await contentOf(response, this.#maxResponseSize) };
    } catch (error) {
      return { error: error instanceof SecretsError ? error : unreachable(this.#base.origin, error) };
    }
  }
}

nameOperations(Client.prototype);

// Options of `fetch` that are the same for all requests.
function fixedInit() {
  // A redirect is not followed: the token would be sent to another address.
  const init = { redirect: "manual" };
  // Some platforms without a cache or cookies refuse these options.
  const known = globalThis.Request?.prototype ?? {};
  if ("cache" in known) init.cache = "no-store";
  if ("credentials" in known) init.credentials = "omit";
  return init;
}

// Creates the error for a request without a response. Its cause is not set, because an error of
// another implementation of `fetch` can contain the headers.
function unreachable(origin, error) {
  return new SecretsError("unavailable", `no response from ${origin}${reason(error)}`, { code: "no_response" });
}
