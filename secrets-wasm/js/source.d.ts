import type { Bytes } from "./bundle.js";

/** WebAssembly module: a compiled module, its bytes, a response or request for it, or its address. */
export type ModuleSource = (WebAssembly.Module & object) | Bytes | Response | Request | URL | string;

/**
 * Type of the default export of `secrets-service/bundle.wasm` and `secrets-service/secrets.wasm`, for bundlers that
 * support importing WebAssembly.
 */
declare const source: ModuleSource;
export default source;
