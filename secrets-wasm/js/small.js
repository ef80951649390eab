// Module that only opens bundles and records.

import * as generated from "./bundle/secrets.js";
import { loadable } from "./loadable.js";

export const module = loadable(generated);
