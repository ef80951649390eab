// In a browser: fetches the module that lies beside this one.

import init from "./full/secrets.js";
import { nameOperations } from "./face.js";

await init({ module_or_path: new URL("./full/secrets_bg.wasm", import.meta.url) });
nameOperations();

export * from "./exports.js";
