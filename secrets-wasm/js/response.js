// HTTP responses of operations.

import { SecretsError } from "./errors.js";

const FOREIGN = "the response cannot be parsed: is this the address of the service?";

const KINDS = { 401: "unauthenticated", 404: "not_found", 502: "unavailable", 503: "unavailable", 504: "unavailable" };

// Maximum length of a message, in characters: the response may be that of another server.
const MAX_MESSAGE = 1000;

// Largest number of bytes whose text is built at once: arguments of a function are limited.
const CHUNK = 0x2000;

// Reads a response to its end. Responses of more than `max` bytes are refused.
export async function contentOf(response, max) {
  const bytes = await bytesOf(response, max);
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
  const reader = response.body?.getReader?.();
  if (!reader) return limited(new Uint8Array(await response.arrayBuffer()), max);
  const chunks = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > max) {
      // The connection is closed in the background.
      reader.cancel().catch(() => {});
      throw tooLarge(max);
    }
    chunks.push(value);
  }
  return joined(chunks, size);
}

function limited(bytes, max) {
  if (bytes.length > max) throw tooLarge(max);
  return bytes;
}

const tooLarge = (max) => new SecretsError("internal", `the response is larger than ${max} bytes`, { code: "response_too_large" });

function joined(chunks, size) {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

// Seconds of a `Retry-After` header: a number or a date (RFC 9110, section 10.2.3).
function seconds(header) {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header)) return Number(header);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - Date.now()) / 1000));
}

// Decodes the output of an operation.
export function outputOf({ endpoint, isText }, response) {
  if (isText) return { text: response.text() };
  if (response.bytes.length === 0 && endpoint.envelope === null) return null;
  if (response.type.startsWith("application/octet-stream")) return base64(response.bytes);
  try {
    const content = JSON.parse(response.text());
    if (endpoint.envelope === null) return content;
    if (Object.hasOwn(content, endpoint.envelope)) return content[endpoint.envelope];
  } catch {
    // Without the cause, whose text contains the response.
  }
  throw error("internal", FOREIGN, response);
}

function base64(bytes) {
  let binary = "";
  for (let at = 0; at < bytes.length; at += CHUNK) binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(binary);
}

// Converts an error response to an error.
export function failure(response) {
  if (response.isRedirect) return error("internal", redirected(response), response);
  const content = parsed(response);
  if (content === undefined) return error(kindOf(response.status, {}), foreign(response), response);
  const { error: message, code, details, resource, plan, limit, current } = content;
  const fields = Array.isArray(details?.fields) ? details.fields : undefined;
  const more = { code, fields, resource, plan, limit, current };
  return error(kindOf(response.status, content), message.slice(0, MAX_MESSAGE), response, more);
}

// Returns the JSON object of an error response of the service.
function parsed(response) {
  try {
    const content = JSON.parse(response.text());
    return typeof content?.error === "string" ? content : undefined;
  } catch {
    return undefined;
  }
}

function error(kind, message, { status, requestId, retryAfter }, details = {}) {
  return new SecretsError(kind, message, { ...details, status, requestId, retryAfter });
}

const foreign = ({ status }) => (KINDS[status] === "unavailable" ? `the service is unavailable (status ${status})` : FOREIGN);

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
