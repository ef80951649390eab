import type { ModuleSource } from "./source.js";

export * from "./index.js";
export type { ModuleSource } from "./source.js";

/**
 * Loads the WebAssembly module `secrets-service/secrets.wasm`. Call it once, and wait for it before the
 * first call of another function. Errors are those of `fetch` and `WebAssembly`.
 *
 * @throws {SecretsError<"invalid">} if `source` is not a `ModuleSource`, or `globalThis.crypto` is missing
 */
export function init(source: ModuleSource | PromiseLike<ModuleSource>): Promise<void>;
