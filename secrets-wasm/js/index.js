// Entry point for browsers: fetches the WebAssembly module next to this file.

import init from "./full/secrets.js";
import { nameOperations } from "./face.js";

await init({ module_or_path: new URL("./full/secrets_bg.wasm", import.meta.url) });
nameOperations();

export * from "./exports.js";
