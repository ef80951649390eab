// Clock for tests: timers fire without a wait, in the order of their times.

import { mock } from "node:test";

// Replaces the timers, the clock and the random numbers of the client while `work` runs. `work` may wait for
// nothing but promises and timers. Returns the result of `work` and the times in milliseconds of the timers
// that ended.
export async function withClock(work, { random = 0 } = {}) {
  const timers = new Map();
  const ended = [];
  let now = 0;
  let number = 0;
  const mocks = [
    mock.method(globalThis, "setTimeout", (run, duration) => {
      number += 1;
      timers.set(number, { run, duration, at: now + duration });
      return number;
    }),
    mock.method(globalThis, "clearTimeout", (timer) => timers.delete(timer)),
    mock.method(performance, "now", () => now),
    mock.method(Math, "random", () => random),
  ];
  try {
    let isDone = false;
    const result = work().finally(() => (isDone = true));
    // The result is awaited below. Until then, a rejection must not count as unhandled.
    result.catch(() => {});
    for (;;) {
      // Waits until all code that needs no timer has run.
      await new Promise(setImmediate);
      if (isDone) return { result: await result, ended };
      const [first, { run, duration, at }] = [...timers].sort(([, one], [, other]) => one.at - other.at)[0];
      timers.delete(first);
      now = at;
      ended.push(duration);
      run();
    }
  } finally {
    for (const one of mocks) one.mock.restore();
  }
}
