// Opens a bundle without a server and prints its keys.
//
//     npm install secrets-service
//     node decrypt.mjs FILE [SIGNER]
//
// The passphrase or key is read from standard input, so that it does not appear in the process list.

import { readFileSync } from "node:fs";
import { openBundle } from "secrets-service/bundle";

const [file, signer] = process.argv.slice(2);
if (!file) {
  console.error("usage: node decrypt.mjs FILE [SIGNER] <PASSPHRASE");
  process.exit(64);
}
if (process.stdin.isTTY) process.stderr.write("passphrase or key, then Ctrl+D: ");
const typed = readFileSync(0, "utf8");
const uses = { scbk_: "key", scbx_: "privateKey" };
const use = uses[typed.trim().slice(0, 5)] ?? "passphrase";
// A passphrase may begin and end with spaces.
const secret = use === "passphrase" ? typed.replace(/[\r\n]+$/, "") : typed.trim();

try {
  const bundle = openBundle(readFileSync(file), { [use]: secret, ...(signer !== undefined && { signer }) });
  console.error(`environment ${bundle.environment}, made ${bundle.created_at}, signed by ${bundle.signer}`);
  for (const { key } of bundle.secrets) console.log(key);
} catch (error) {
  if (!error.kind) throw error;
  console.error(`${error.kind}: ${error.message}`);
  process.exit(1);
}
