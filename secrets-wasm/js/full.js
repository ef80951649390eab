// Module with all functions.

import * as generated from "./full/secrets.js";
import { loadable } from "./loadable.js";

export const module = loadable(generated, { needsCrypto: true });
