// Small entry point that loads no WebAssembly module by itself: call `init` first.

import { module } from "./small.js";

export const init = module.load;

export * from "./bundle.core.js";
