// HTTP client of a service, with the methods of a session. Needs `fetch` and no WebAssembly module.

import { options, text } from "./arguments.js";
import { ENDPOINTS } from "./endpoints.js";
import { converted, invalid, SecretsError } from "./errors.js";
import { hide } from "./hidden.js";
import { nameOperations } from "./names.js";
import { authorization, baseOf, requestOf } from "./request.js";
import { contentOf, failure, outputOf } from "./response.js";
import { pause, within } from "./within.js";

export { SecretsError } from "./errors.js";

const CLIENT_OPTIONS = ["token", "timeout", "totalTimeout", "maxResponseSize", "fetch"];

// Defaults, in milliseconds and bytes.
const TIMEOUT = 60_000;
const TOTAL_TIMEOUT = 90_000;
const MAX_RESPONSE_SIZE = 256 * 1024 * 1024;

const MAX_RETRIES = 10;

// Shortest time before a retry, in milliseconds.
const MIN_RETRY_DELAY = 100;

// Longest time that `setTimeout` can wait, in milliseconds.
const MAX_TIMEOUT = 2 ** 31 - 1;

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

  async call(name, input = {}, given = {}) {
    const { signal } = options("call", given, ["signal"]);
    signal?.throwIfAborted();
    if (!Object.hasOwn(ENDPOINTS, text(name, "name"))) throw new SecretsError("not_found", "no such operation");
    const request = requestOf(name, ENDPOINTS[name], input);
    try {
      return hide(outputOf(request, await this.#send(request, signal)));
    } catch (error) {
      // With the stack of the caller.
      throw error instanceof SecretsError ? converted(error) : error;
    }
  }

  // Sends a request until it succeeds, must not be retried, or the total time is over.
  async #send(request, signal) {
    const end = performance.now() + this.#totalTimeout;
    for (let retries = 0; ; retries += 1) {
      try {
        return await this.#attempt(request, Math.min(this.#timeout, end - performance.now()), signal);
      } catch (error) {
        const delay = retryDelay(error, request, retries);
        if (delay === undefined || performance.now() + delay >= end) throw error;
        await pause(delay, signal);
      }
    }
  }

  async #attempt(request, timeout, signal) {
    const expired = () =>
      new SecretsError("unavailable", `no response from ${this.#base.origin} within ${Math.round(timeout)} ms`, { code: "timeout" });
    const response = await within(timeout, signal, expired, (signal) => this.#exchange(request, signal));
    if (response.status >= 200 && response.status < 300) return response;
    // An OAuth error is a result of this operation.
    if (request.name === "device_login.poll" && response.status === 400 && !response.text().includes('"code"')) return response;
    throw failure(response);
  }

  async #exchange({ method, target, body }, signal) {
    const headers = { accept: "application/json" };
    if (body !== undefined) headers["content-type"] = "application/json";
    if (this.#token !== undefined) {
      headers.authorization = authorization(typeof this.#token === "function" ? await this.#token() : this.#token);
    }
    // Not called as a method: browsers refuse that.
    const fetch = this.#fetch ?? globalThis.fetch;
    try {
      // A redirect is not followed: the token would be sent to another address.
      const init = { method, headers, body, signal, redirect: "manual", credentials: "omit" };
      const response = await fetch(`${this.#base.href}${target}`, init);
      return await contentOf(response, this.#maxResponseSize);
    } catch (error) {
      throw error instanceof SecretsError ? error : unreachable(this.#base.origin, error);
    }
  }
}

nameOperations(Client.prototype);

function bound(chosen, name, otherwise, max) {
  const value = chosen[name] ?? otherwise;
  if (typeof value !== "number" || !(value > 0 && value <= max)) throw invalid(`${name} must be a number from 1 to ${max}`);
  return value;
}

// Without the error of `fetch` as its cause: an error of another implementation can contain the headers.
function unreachable(origin, error) {
  const code = String(error?.cause?.code ?? error?.code);
  const reason = /^[A-Z][A-Z0-9_]+$/.test(code) ? ` (${code})` : "";
  return new SecretsError("unavailable", `no response from ${origin}${reason}`, { code: "no_response" });
}

// Returns the time before a retry, in milliseconds; `undefined` if the request must not be retried.
function retryDelay(error, { method }, retries) {
  if (!(error instanceof SecretsError) || retries >= MAX_RETRIES) return undefined;
  const { kind, code, status, retryAfter } = error;
  const isOverloaded = kind === "rate_limited" || status === 503;
  if (isOverloaded && retryAfter !== undefined) return Math.max(retryAfter * 1000, MIN_RETRY_DELAY);
  // The server closed an idle connection. Another request may already have taken effect.
  if (code === "no_response" && method === "GET" && retries === 0) return MIN_RETRY_DELAY;
  return undefined;
}
