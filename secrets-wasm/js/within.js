// Waiting with a timeout and an `AbortSignal`.

// Runs `work(signal)`. Rejects with `expired()` after a time in milliseconds, and with the reason of
// the signal `outer` when it is aborted, even if `work` ignores its own signal.
export function within(duration, outer, expired, work) {
  const controller = new AbortController();
  return new Promise((resolve, reject) => {
    const finish = (settle) => (outcome) => {
      clearTimeout(timer);
      outer?.removeEventListener("abort", abort);
      settle(outcome);
    };
    const stop = (reason) => {
      finish(reject)(reason);
      controller.abort(reason);
    };
    const abort = () => stop(outer.reason);
    const timer = setTimeout(() => stop(expired()), duration);
    outer?.addEventListener("abort", abort);
    if (outer?.aborted) abort();
    else work(controller.signal).then(finish(resolve), finish(reject));
  });
}

// Waits for a time in milliseconds. Rejects with the reason of `signal` when that is aborted.
export function pause(duration, signal) {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, duration);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}
