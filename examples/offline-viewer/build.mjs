// Builds the page: one file that works from any place and is allowed to load nothing else.
//
//     node build.mjs MODULE TARGET
//
// MODULE is the `script` folder that secrets-wasm/package.sh builds; TARGET is the folder for
// index.html.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [module, target] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const source = (name) => readFileSync(join(here, name), "utf8");

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const style = source("style.css");
const script = source("page.js");
const worker = `${readFileSync(join(module, "secrets.js"), "utf8")}\n${source("worker.js")}`;
for (const [name, text] of Object.entries({ script, worker })) {
  // Such text would end the script element.
  if (/<\/script|<!--/i.test(text)) throw new Error(`the ${name} cannot be embedded in a page`);
}

const policy = [
  "default-src 'none'",
  `script-src ${hash(script)} 'wasm-unsafe-eval'`,
  `style-src ${hash(style)}`,
  "worker-src blob:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

const parts = {
  policy,
  style,
  script,
  worker,
  module: readFileSync(join(module, "secrets_bg.wasm")).toString("base64"),
};
const page = source("page.html").replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
mkdirSync(target, { recursive: true });
writeFileSync(join(target, "index.html"), page);
