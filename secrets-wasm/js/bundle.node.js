// What opens bundles, alone and small, in Node.js.

import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";

import { initSync } from "./bundle/secrets.js";

// Where random bytes come from; Node.js 18 has it, but not by this name.
globalThis.crypto ??= webcrypto;
initSync({ module: readFileSync(new URL("./bundle/secrets_bg.wasm", import.meta.url)) });

export { isPlausibleToken, openBundle, openRecord } from "./bundle/secrets.js";
