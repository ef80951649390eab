// Entry point that opens bundles in a worker thread, for Node.js.

// Without the prefix `node:`, so that webpack recognizes the worker.
import { Worker } from "worker_threads";

import { openIn } from "./worker.core.js";

export { SecretsError } from "./errors.js";
export { toRecord } from "./open.js";

export function openBundleInWorker(bundle, options, call) {
  return openIn(start, bundle, options, call);
}

function start(resolve, reject) {
  // Without the flags and variables of the program: flags such as `--input-type` refuse a file.
  const worker = new Worker(new URL("./bundle.worker.node.js", import.meta.url), { execArgv: [], env: {} });
  worker.once("message", resolve).once("error", reject).once("messageerror", reject).once("exit", reject);
  return { post: (...message) => worker.postMessage(...message), terminate: () => worker.terminate() };
}
