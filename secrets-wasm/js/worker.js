// Entry point that opens bundles in a web worker.

import { openIn } from "./worker.core.js";

export { SecretsError } from "./errors.js";
export { toRecord } from "./open.js";

export function openBundleInWorker(bundle, options, call) {
  return openIn(start, bundle, options, call);
}

function start(resolve, reject) {
  const worker = new Worker(new URL("./bundle.worker.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = worker.onmessageerror = (event) => {
    event.preventDefault();
    reject();
  };
  return { post: (...message) => worker.postMessage(...message), terminate: () => worker.terminate() };
}
