// Functions of the small module, for all platforms. They can be called when the module is loaded.

import { module } from "./small.js";
import { openers } from "./open.js";

export const { openBundle, openRecord, isPlausibleToken } = openers(module);
export { toRecord } from "./open.js";
export { SecretsError } from "./errors.js";
