import type { Bundle, Bytes, OpenOptions } from "./bundle.js";

export { SecretsError, toRecord } from "./bundle.js";
export type * from "./bundle.js";

/** Options of `openBundleInWorker`. */
export interface WorkerOptions {
  /** Signal that cancels the call, which then rejects with the reason of the signal. */
  signal?: AbortSignal | undefined;
  /** Timeout of the call in milliseconds, at least 1. Default: 60,000. */
  timeout?: number | undefined;
}

/**
 * Opens a bundle in a new worker (a thread of the browser or of Node.js), so that the page stays responsive: a
 * passphrase can need several seconds of computation. The worker is terminated afterwards, which releases all of its
 * memory. The worker gets a copy of the bytes of the bundle.
 *
 * @throws {SecretsError<BundleRefusal | "invalid" | "internal">} `internal` with the code `worker_failed` or
 * `timeout` if the worker does not start or does not respond
 */
export function openBundleInWorker(bundle: Bytes, options: OpenOptions, call?: WorkerOptions): Promise<Bundle>;
