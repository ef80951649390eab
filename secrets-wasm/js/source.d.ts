import type { Bytes } from "./bundle.js";

/** WebAssembly module: compiled, as bytes, as a response or a request, or its address. */
export type ModuleSource = (WebAssembly.Module & object) | Bytes | Response | Request | URL | string;

/** Default export of `secrets-service/bundle.wasm` and `secrets-service/secrets.wasm`, if a bundler supports the import. */
declare const source: ModuleSource;
export default source;
