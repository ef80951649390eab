// Opening a bundle in a worker of the platform.

import { options } from "./arguments.js";
import { converted, SecretsError } from "./errors.js";
import { hide } from "./hidden.js";
import { bundleArguments } from "./open.js";
import { within } from "./within.js";

// Default timeout in milliseconds.
const TIMEOUT = 60_000;

const failed = (message) => new SecretsError("internal", message, { code: "worker_failed" });

// `start` starts a worker and returns `{ post, terminate }`. It is called with functions for the answer
// of the worker and for its failure.
export async function openIn(start, bundle, given, call = {}) {
  const [file, chosen] = bundleArguments(bundle, given);
  const { signal, timeout = TIMEOUT } = options("openBundleInWorker", call, ["signal", "timeout"]);
  signal?.throwIfAborted();
  const expired = () => new SecretsError("internal", `the worker did not answer within ${timeout} ms`, { code: "timeout" });
  // A copy, which is transferred: cloning a view would clone its whole buffer.
  const message = { file: file.slice(), options: chosen };
  let worker;
  try {
    const { error, opened } = await within(timeout, signal, expired, async () =>
      new Promise((resolve, reject) => {
        worker = start(resolve, () => reject(failed("the worker failed")));
        worker.post(message, [message.file.buffer]);
      }),
    );
    if (error) throw SecretsError.fromJSON(error);
    return hide(opened);
  } catch (error) {
    throw error instanceof SecretsError ? converted(error) : error;
  } finally {
    // Releases its memory, with the values in it.
    worker?.terminate();
  }
}

// Opens a bundle in the worker, and returns its answer.
export function answer(openBundle, { file, options }) {
  try {
    return { opened: openBundle(file, options) };
  } catch (error) {
    return { error: error instanceof SecretsError ? error.toJSON() : failed("the worker failed").toJSON() };
  }
}
