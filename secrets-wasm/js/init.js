// Entry point that loads no WebAssembly module by itself: call `init` first.

import { module } from "./full.js";

export const init = module.load;

export * from "./index.core.js";
