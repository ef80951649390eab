// Functions that open bundles and records, for both WebAssembly modules.

import { bytes, bytesIfAny, options, text } from "./arguments.js";
import { attempt, invalid } from "./errors.js";
import { hide, hideAll } from "./hidden.js";

const OPEN_OPTIONS = ["passphrase", "key", "privateKey", "signer", "atLeast", "now"];

const RECORD = ["record", "key", "keyVersion", "purpose", "hidden", "instance", "project", "environment", "object", "keyName", "version"];

// Checks the arguments of `openBundle`.
export function bundleArguments(bundle, given) {
  const file = bytes(bundle, "bundle");
  const chosen = options("openBundle", given, OPEN_OPTIONS);
  // If `signer` is undefined by mistake, such as a missing setting, any signer would be accepted.
  if ("signer" in chosen && typeof chosen.signer !== "string") {
    throw invalid("signer must be a string: leave the option out to accept any signer");
  }
  return [file, chosen];
}

// Returns functions that call a loadable module.
export function openers(module) {
  function openBundle(bundle, given) {
    const [file, chosen] = bundleArguments(bundle, given);
    return hide(attempt(openBundle, () => module.functions.openBundle(file, chosen)));
  }

  function openRecord(record) {
    const chosen = options("openRecord", record, RECORD);
    const { record: sealed, key } = chosen;
    const given = { ...chosen, record: bytesIfAny(sealed) ?? sealed, key: bytesIfAny(key) ?? key };
    return attempt(openRecord, () => module.functions.openRecord(given));
  }

  function isPlausibleToken(token) {
    const given = text(token, "token");
    return attempt(isPlausibleToken, () => module.functions.isPlausibleToken(given));
  }

  return { openBundle, openRecord, isPlausibleToken };
}

// Returns the values of secrets by key. The object has no prototype, since `__proto__` can be a key.
export function toRecord(secrets) {
  const listed = secrets?.secrets ?? secrets;
  if (typeof listed?.[Symbol.iterator] !== "function" || typeof listed === "string") {
    throw invalid("secrets must be a bundle or a list of secrets");
  }
  const record = Object.create(null);
  for (const secret of listed) record[text(secret?.key, "key")] = text(secret?.value, "value");
  return hideAll(record);
}
