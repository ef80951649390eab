// Functions that open a bundle in a worker, for all platforms.

import { bound, MAX_TIMEOUT, options } from "./arguments.js";
import { converted, invalid, reason, SecretsError } from "./errors.js";
import { hide } from "./hidden.js";
import { bundleArguments } from "./open.js";
import { within } from "./within.js";

// Default timeout in milliseconds.
const TIMEOUT = 60_000;

const failed = (message) => new SecretsError("internal", message, { code: "worker_failed" });

// Opens a bundle in a new worker. `start(resolve, reject)` starts the worker and returns `{ post, terminate }`.
// `resolve` is called with the response of the worker, `reject` if it fails.
export async function openIn(start, bundle, given, call = {}) {
  const [file, chosen] = bundleArguments(bundle, given);
  const limits = options("openBundleInWorker", call, ["signal", "timeout"]);
  const timeout = bound(limits, "timeout", TIMEOUT, MAX_TIMEOUT);
  const { signal } = limits;
  signal?.throwIfAborted();
  const expired = () => new SecretsError("internal", `the worker did not answer within ${timeout} ms`, { code: "timeout" });
  // A copy, which is transferred: cloning a view would clone its whole buffer.
  const message = { file: file.slice(), options: chosen };
  let worker;
  try {
    const { error, opened } = await within(timeout, signal, expired, async () =>
      new Promise((resolve, reject) => {
        worker = started(start, resolve, () => reject(failed("the worker failed")));
        post(worker, message);
      }),
    );
    if (error) throw SecretsError.fromJSON(error);
    return hide(opened);
  } catch (error) {
    // The reason of the signal is thrown as it is.
    throw error instanceof SecretsError && error !== signal?.reason ? converted(error) : error;
  } finally {
    // Releases its memory, with the values in it.
    worker?.terminate();
  }
}

// Starts a worker. The message of a platform error is not used, because it can contain an option.
function started(start, resolve, reject) {
  try {
    return start(resolve, reject);
  } catch (error) {
    throw failed(`the worker cannot be started${reason(error)}`);
  }
}

function post(worker, message) {
  try {
    worker.post(message, [message.file.buffer]);
  } catch (error) {
    throw invalid(`options of openBundle cannot be sent to a worker${reason(error)}`);
  }
}

// Response of a worker whose module cannot be loaded.
export const notLoaded = () => ({ error: failed("the worker cannot load its WebAssembly module").toJSON() });

// Opens a bundle, and returns the worker's response.
export function answer(openBundle, { file, options }) {
  try {
    return { opened: openBundle(file, options) };
  } catch (error) {
    return { error: error instanceof SecretsError ? error.toJSON() : failed("the worker failed").toJSON() };
  }
}
