import type { Bundle, Bytes, OpenOptions } from "./bundle.js";

export { SecretsError, toRecord } from "./bundle.js";
export type * from "./bundle.js";

/** Options of a call in a worker. */
export interface WorkerOptions {
  /** Cancels the call, which then rejects with the reason of the signal. */
  signal?: AbortSignal | undefined;
  /** Timeout in milliseconds, from 1. Default: 60,000. */
  timeout?: number | undefined;
}

/**
 * Opens a bundle in a worker, which is terminated afterwards: a passphrase takes up to a second of work,
 * and the memory of a worker is released as a whole. The bytes are copied.
 *
 * @throws {SecretsError<BundleRefusal | "invalid" | "internal">} `internal` with the code `worker_failed`
 *   or `timeout` if the worker does not start or answer
 */
export function openBundleInWorker(bundle: Bytes, options: OpenOptions, call?: WorkerOptions): Promise<Bundle>;
