// Entry point for browsers: fetches the WebAssembly module next to this file.

import load from "./full/secrets.js";

await load({ module_or_path: new URL("./full/secrets_bg.wasm", import.meta.url) });

export * from "./index.core.js";
