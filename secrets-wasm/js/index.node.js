// Entry point for Node.js: reads the WebAssembly module next to this file.

import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";

import "./environment.node.js";
import { module } from "./full.js";

// Source of random bytes. Node.js 18 has it, but not as a global.
globalThis.crypto ??= webcrypto;
module.loadSync(readFileSync(new URL("./full/secrets_bg.wasm", import.meta.url)));

export * from "./index.core.js";
