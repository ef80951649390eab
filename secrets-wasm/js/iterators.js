// Iteration over all pages of lists.

import { isObject } from "./arguments.js";
import { invalid } from "./errors.js";

async function* iterate(audit, input = {}, given = {}) {
  let { cursor } = checked(input);
  do {
    const page = await audit.list({ ...input, cursor }, given);
    yield* page.logs;
    cursor = page.next_cursor;
  } while (cursor !== undefined);
}

async function* iterateHistory(secret, input = {}, given = {}) {
  let { before } = checked(input);
  for (;;) {
    const versions = await secret.history({ ...input, before }, given);
    if (versions.length === 0) return;
    yield* versions;
    before = versions[versions.length - 1].version;
  }
}

function checked(input) {
  if (!isObject(input)) throw invalid("input must be an object");
  return input;
}

// Iterators by noun and name. The first argument is the namespace of the noun.
export const ITERATORS = { audit: { iterate }, secret: { iterateHistory } };
