// Text and fenced blocks of the README.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { root } from "./places.mjs";

export const readme = readFileSync(join(root, "secrets-wasm/README.md"), "utf8");

// Fenced blocks of the README, with the language after the opening fence.
export const blocks = [...readme.matchAll(/^```(.*)\n([^]*?)^```$/gm)].map(([, language, code]) => ({ language, code }));

// Returns the code of the only block that contains a text.
export function blockWith(text) {
  const found = blocks.filter(({ code }) => code.includes(text));
  if (found.length !== 1) throw new Error(`${found.length} blocks of the README contain ${text}`);
  return found[0].code;
}
