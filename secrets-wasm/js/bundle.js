// Small entry point that only opens bundles and records, for browsers.

import { module } from "./small.js";

await module.load(new URL("./bundle/secrets_bg.wasm", import.meta.url));

export * from "./bundle.core.js";
