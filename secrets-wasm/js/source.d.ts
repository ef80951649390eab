import type { Bytes } from "./bundle.js";

/** WebAssembly module: compiled, as bytes, as a response, or its address. */
export type ModuleSource = (WebAssembly.Module & object) | Bytes | Response | URL | string;
