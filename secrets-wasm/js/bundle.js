// What opens bundles, alone and small, in a browser.

import init from "./bundle/secrets.js";

await init();

export { isPlausibleToken, openBundle, openRecord } from "./bundle/secrets.js";
