// Small entry point that only opens bundles and records, for browsers.

import load from "./bundle/secrets.js";

await load({ module_or_path: new URL("./bundle/secrets_bg.wasm", import.meta.url) });

export * from "./bundle.core.js";
