import type { ModuleSource } from "./source.js";

export * from "./bundle.js";
export type { ModuleSource } from "./source.js";

/**
 * Loads the WebAssembly module `secrets-service/bundle.wasm`. Call this function once, and await its result before
 * you call another function. Errors of `fetch` and `WebAssembly` are thrown unchanged.
 *
 * @throws {SecretsError<"invalid">} if `source` is not a `ModuleSource`
 */
export function init(source: ModuleSource | PromiseLike<ModuleSource>): Promise<void>;
