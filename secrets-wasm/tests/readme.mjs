// Text and fenced blocks of the README.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { root } from "./places.mjs";

export const readme = readFileSync(join(root, "secrets-wasm/README.md"), "utf8");

// Blocks with their language, which is the rest of the line of the fence.
export const blocks = [...readme.matchAll(/^```(.*)\n([^]*?)^```$/gm)].map(([, language, code]) => ({ language, code }));

// Returns the code of the only block with a text.
export function blockWith(text) {
  const found = blocks.filter(({ code }) => code.includes(text));
  if (found.length !== 1) throw new Error(`${found.length} blocks of the README contain ${text}`);
  return found[0].code;
}
