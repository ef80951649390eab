// In a browser: fetches the module that lies beside this one.

import init from "./full/secrets.js";
import { nameOperations } from "./face.js";

await init();
nameOperations();

export * from "./exports.js";
