// HTTP responses of operations.

import { isObject } from "./arguments.js";
import { SecretsError } from "./errors.js";
import { hide } from "./hidden.js";

const FOREIGN = "the response is not that of the service: is this the address of the service?";

const KINDS = { 401: "unauthenticated", 404: "not_found", 502: "unavailable", 503: "unavailable", 504: "unavailable" };

// Maximum length of an error message, and of a code or name, in characters. Another server may have responded.
const MAX_MESSAGE = 1000;
const MAX_NAME = 200;

// Maximum size of an error response, in bytes.
const MAX_ERROR_SIZE = 1024 * 1024;

// Largest number of bytes whose text is built at once: arguments of a function are limited.
const CHUNK = 0x2000;

// Reads a response to its end. Responses of more than `max` bytes are refused.
export async function contentOf(response, max) {
  const isSuccess = response.status >= 200 && response.status < 300;
  const bytes = await bytesOf(response, isSuccess ? max : Math.min(max, MAX_ERROR_SIZE));
  const header = (name) => response.headers.get(name) ?? undefined;
  return {
    status: response.status,
    isRedirect: response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400),
    location: header("location"),
    type: header("content-type") ?? "",
    retryAfter: seconds(header("retry-after")),
    requestId: header("x-request-id"),
    bytes,
    text: () => new TextDecoder().decode(bytes),
  };
}

async function bytesOf(response, max) {
  if (Number(response.headers.get("content-length")) > max) {
    cancel(response.body);
    throw tooLarge(max, response);
  }
  const reader = response.body?.getReader?.();
  if (!reader) return limited(new Uint8Array(await response.arrayBuffer()), max, response);
  const chunks = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > max) {
      cancel(reader);
      throw tooLarge(max, response);
    }
    chunks.push(value);
  }
  return joined(chunks, size);
}

// Closes the connection in the background.
function cancel(body) {
  body?.cancel?.().catch(() => {});
}

function limited(bytes, max, response) {
  if (bytes.length > max) throw tooLarge(max, response);
  return bytes;
}

const tooLarge = (max, { status }) =>
  new SecretsError("internal", `the response is larger than ${max} bytes`, { code: "response_too_large", status });

function joined(chunks, size) {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

// Returns the seconds to wait, from a `Retry-After` header with a number or a date (RFC 9110,
// section 10.2.3); `undefined` if the header is absent or invalid.
function seconds(header) {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header)) return Number(header);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - Date.now()) / 1000));
}

// True if a response contains the output of its operation.
export function isOutput({ name }, response) {
  if (response.status >= 200 && response.status < 300) return true;
  // An OAuth error is an output of this operation.
  return name === "device_login.poll" && response.status === 400 && isGrantError(parsed(response));
}

const isGrantError = (content) => typeof content?.error === "string" && content.code === undefined;

// Decodes the output of an operation. Throws an error for a response without the declared form,
// because it comes from another server, such as the login page of a network.
export function outputOf(request, response) {
  try {
    const output = decoded(request, response);
    if (output !== undefined) return hide(output);
  } catch {
    // The error below has no cause, because the message of the cause can contain the response. JSON
    // that is nested too deeply also ends here.
  }
  throw foreignError(response);
}

// Decodes the output of an operation. Returns `undefined` for a response without the declared form.
function decoded({ endpoint, isText }, response) {
  const { envelope, output, texts } = endpoint;
  const type = response.type.split(";")[0].trim().toLowerCase();
  if (output === null) return response.bytes.length === 0 ? null : undefined;
  if (isText) return texts.includes(type) ? { text: response.text() } : undefined;
  if (output === "file") return type === "application/octet-stream" ? base64(response.bytes) : undefined;
  const content = JSON.parse(response.text());
  if (envelope === null) return hasForm(content, output) ? withoutData(content) : undefined;
  const isEnvelope = isObject(content) && Object.hasOwn(content, envelope) && hasForm(content[envelope], output);
  return isEnvelope ? content[envelope] : undefined;
}

// Removes the field `data` that a server with `SECRETS_ENVELOPE=both` adds to an object. A test checks that no
// declared output has this field.
function withoutData(content) {
  delete content.data;
  return content;
}

const hasForm = (content, output) => (output === "array" ? Array.isArray(content) : isObject(content));

function base64(bytes) {
  let binary = "";
  for (let at = 0; at < bytes.length; at += CHUNK) binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(binary);
}

// Converts an error response to an error.
export function failure(response) {
  if (response.isRedirect) return error("internal", redirected(response), response);
  const content = parsed(response);
  if (typeof content?.error !== "string" || typeof content.code !== "string") return foreignError(response);
  return error(kindOf(response.status, content), plain(content.error, MAX_MESSAGE), response, detailsOf(content));
}

// Returns the properties of an error that have the declared types.
function detailsOf({ code, details, resource, plan, limit, current }) {
  const fields = Array.isArray(details?.fields) ? details.fields.filter(isObject).map(fieldOf) : undefined;
  return { code: name(code), fields, resource: name(resource), plan: name(plan), limit: number(limit), current: number(current) };
}

function fieldOf({ field, message, index, key }) {
  const known = { field: name(field) ?? "", message: plain(message, MAX_MESSAGE) ?? "", index: number(index), key: plain(key, MAX_MESSAGE) };
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined));
}

const name = (value) => plain(value, MAX_NAME);
const number = (value) => (typeof value === "number" ? value : undefined);

// Returns a string without control characters, which could change the output of a terminal.
function plain(value, max) {
  return typeof value === "string" ? value.slice(0, max).replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]+/gu, " ") : undefined;
}

// Parses the JSON body of a response; `undefined` if it is not valid JSON.
function parsed(response) {
  try {
    return JSON.parse(response.text());
  } catch {
    return undefined;
  }
}

// Error for a response of another server, such as a proxy.
function foreignError(response) {
  const { status } = response;
  if (KINDS[status] === "unavailable") return error("unavailable", `the service is unavailable (status ${status})`, response);
  if (status === 429) return error("rate_limited", "too many requests (status 429)", response);
  return error("internal", FOREIGN, response, { code: "foreign_response" });
}

function error(kind, message, { status, requestId, retryAfter }, details = {}) {
  return new SecretsError(kind, message, { ...details, status, requestId, retryAfter });
}

function redirected({ location }) {
  let target = "another address";
  try {
    target = new URL(location).origin;
  } catch {
    // Browsers hide the location.
  }
  return `the server redirects to ${target}: use the address of the service`;
}

function kindOf(status, { code, details }) {
  if (status === 400) return details === undefined && code !== undefined ? "refused" : "invalid";
  if (status === 403) return code === "ip_not_allowed" ? "elsewhere" : "forbidden";
  if (status === 409) return code === "version_conflict" ? "stale" : "conflict";
  if (status === 429) return code === "plan_limit_exceeded" ? "plan_limit" : "rate_limited";
  return KINDS[status] ?? (status >= 500 || status < 400 ? "internal" : "invalid");
}
