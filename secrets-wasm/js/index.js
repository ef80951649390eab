// Entry point for browsers: fetches the WebAssembly module next to this file.

import { module } from "./full.js";

await module.load(new URL("./full/secrets_bg.wasm", import.meta.url));

export * from "./index.core.js";
