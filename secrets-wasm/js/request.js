// HTTP requests of operations.

import { checkDates, isObject } from "./arguments.js";
import { invalid, invalidField, SecretsError } from "./errors.js";

// Checks the address of a service. An error does not contain the address, which may have a password.
export function baseOf(url) {
  let parsed;
  try {
    parsed = new URL(url);
  } catch {
    throw invalid("url must be http://HOST or https://HOST");
  }
  const { protocol, username, password, search, hash, origin, pathname } = parsed;
  if (!["http:", "https:"].includes(protocol)) throw invalid("url must be http://HOST or https://HOST");
  if (username || password || search || hash) throw invalid("url must be an address without credentials and parameters");
  return { origin, href: origin + pathname.replace(/\/+$/, "") };
}

// Returns the `Authorization` header for a token.
export function authorization(token) {
  if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token)) {
    throw invalid("token must be printable ASCII without spaces and line breaks");
  }
  return `Bearer ${token}`;
}

// Builds the request of an operation: its method, its target, and its body if it has one.
export function requestOf(name, endpoint, input) {
  if (!isObject(input)) throw invalid("input must be an object");
  checkDates(input);
  const rest = { ...input };
  const path = endpoint.path.replace(/\{(\w+)\}/g, (_, field) => segment(field, taken(rest, field)));
  const query = new URLSearchParams();
  for (const field of endpoint.query) {
    for (const value of [taken(rest, field)].flat()) {
      if (value !== undefined && value !== null) query.append(field, parameter(field, value));
    }
  }
  const target = String(query) === "" ? path : `${path}?${query}`;
  const isText = name === "secret.export" && (input.format ?? undefined) !== undefined;
  return { name, endpoint, method: endpoint.method, target, body: bodyOf(name, endpoint, rest), isText };
}

function taken(rest, field) {
  const value = Object.hasOwn(rest, field) ? rest[field] : undefined;
  delete rest[field];
  return value;
}

function bodyOf(name, endpoint, rest) {
  if (endpoint.hasBody) {
    try {
      return JSON.stringify(rest);
    } catch {
      throw invalid("input cannot be converted to JSON");
    }
  }
  const unknown = Object.keys(rest).find((field) => rest[field] !== undefined);
  if (unknown !== undefined) throw invalidField(unknown, `is not a field of ${name}`);
  return undefined;
}

// Percent-encodes a path segment. Throws `not_found` for a string that cannot be a segment, because
// no object has such a name.
function segment(field, value) {
  if (value === undefined || value === null) throw invalidField(field, "is required");
  if (typeof value !== "string") throw invalidField(field, "must be a string");
  if (["", ".", ".."].includes(value) || /[/\\]|\p{C}/u.test(value)) {
    throw new SecretsError("not_found", "resource not found", { code: "not_found" });
  }
  return encodeURIComponent(value);
}

function parameter(field, value) {
  // The same conversion as in `JSON.stringify`.
  if (value instanceof Date) return value.toJSON();
  if (!["string", "number", "boolean"].includes(typeof value)) {
    throw invalidField(field, "must be a string, a number, a boolean or a date");
  }
  return String(value);
}
