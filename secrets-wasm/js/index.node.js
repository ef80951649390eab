// In Node.js: reads the module that lies beside this one.

import { readFileSync } from "node:fs";

import { initSync } from "./full/secrets.js";
import { nameOperations } from "./face.js";

initSync({ module: readFileSync(new URL("./full/secrets_bg.wasm", import.meta.url)) });
nameOperations();

export * from "./exports.js";
