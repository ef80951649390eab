// What opens bundles, alone and small, in Node.js.

import { readFileSync } from "node:fs";

import { initSync } from "./bundle/secrets.js";

initSync({ module: readFileSync(new URL("./bundle/secrets_bg.wasm", import.meta.url)) });

export { isPlausibleToken, openBundle, openRecord } from "./bundle/secrets.js";
