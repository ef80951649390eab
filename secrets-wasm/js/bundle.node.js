// Small entry point that only opens bundles and records, for Node.js.

import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";

import { module } from "./small.js";

// Source of random bytes. Node.js 18 has it, but not as a global.
globalThis.crypto ??= webcrypto;
module.loadSync(readFileSync(new URL("./bundle/secrets_bg.wasm", import.meta.url)));

export * from "./bundle.core.js";
