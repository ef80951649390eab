// Small entry point that only opens bundles and records, for browsers.

import init from "./bundle/secrets.js";

await init({ module_or_path: new URL("./bundle/secrets_bg.wasm", import.meta.url) });

export { isPlausibleToken, openBundle, openRecord } from "./bundle/secrets.js";
