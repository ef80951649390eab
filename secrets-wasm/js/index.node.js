// In Node.js: reads the module that lies beside this one.

import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";

import { initSync } from "./full/secrets.js";
import { nameOperations } from "./face.js";

// Where random bytes come from; Node.js 18 has it, but not by this name.
globalThis.crypto ??= webcrypto;
initSync({ module: readFileSync(new URL("./full/secrets_bg.wasm", import.meta.url)) });
nameOperations();

export * from "./exports.js";
