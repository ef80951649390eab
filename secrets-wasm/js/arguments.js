// Checks of arguments. An error names the argument and never contains its value, which may be a secret.

import { invalid, invalidField } from "./errors.js";

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// Refuses invalid dates, which JSON would convert to null: a token would not expire.
export function checkDates(input) {
  for (const [field, value] of Object.entries(input ?? {})) {
    if (value instanceof Date && Number.isNaN(value.getTime())) throw invalidField(field, "must be a valid date");
  }
}

// Returns the options with the names of `known`. Other names are refused: a misspelled option would
// have no effect.
export function options(entry, given, known) {
  if (!isObject(given)) throw invalid(`options of ${entry} must be an object`);
  for (const name in given) {
    if (!known.includes(name)) throw invalid(`${name} is not an option of ${entry}${suggestion(name, known)}`);
  }
  return Object.fromEntries(known.filter((name) => name in given).map((name) => [name, given[name]]));
}

function suggestion(name, known) {
  const plain = (text) => text.replace(/[_-]/g, "").toLowerCase();
  const meant = known.find((one) => plain(one) === plain(name));
  return meant ? `: use ${meant}` : "";
}

export function text(value, name) {
  if (typeof value !== "string") throw invalid(`${name} must be a string`);
  return value;
}

export function textIfAny(value, name) {
  return value === undefined || value === null ? undefined : text(value, name);
}

// Longest time that `setTimeout` can wait, in milliseconds.
export const MAX_TIMEOUT = 2 ** 31 - 1;

// Returns an option that is a number from 1 to `max`; `otherwise` if the option is absent.
export function bound(chosen, name, otherwise, max) {
  const value = chosen[name] ?? otherwise;
  if (typeof value !== "number" || !(value >= 1 && value <= max)) throw invalid(`${name} must be a number from 1 to ${max}`);
  return value;
}

// Returns the bytes of an `ArrayBuffer` or a view of one, without copying them. Works for objects of
// another realm, such as a frame or a test environment.
export function bytes(value, name) {
  const found = bytesIfAny(value);
  if (!found) throw invalid(`${name} must be an ArrayBuffer or a view of one`);
  return found;
}

export function bytesIfAny(value) {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (Object.prototype.toString.call(value) === "[object ArrayBuffer]") return new Uint8Array(value);
  return undefined;
}
