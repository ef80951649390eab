// Functions of the small module, for all platforms. They can be called when the module is loaded.

import * as native from "./bundle/secrets.js";
import { openers } from "./open.js";

export const { openBundle, openRecord, isPlausibleToken } = openers(native);
export { toRecord } from "./open.js";
export { SecretsError } from "./errors.js";
