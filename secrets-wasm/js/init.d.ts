import type { ModuleSource } from "./source.js";

export * from "./index.js";
export type { ModuleSource } from "./source.js";

/**
 * Loads the WebAssembly module `secrets-service/secrets.wasm`. Call this function once, and await its result before
 * you call another function. Errors of `fetch` and `WebAssembly` are thrown unchanged.
 *
 * @throws {SecretsError<"invalid">} if `source` is not a `ModuleSource`, or `globalThis.crypto` is missing
 */
export function init(source: ModuleSource | PromiseLike<ModuleSource>): Promise<void>;
