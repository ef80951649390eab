// Time before a retry. The Python client has the same rule (`_call.py`).

// Maximum number of requests of a call.
const MAX_ATTEMPTS = 10;

// Minimum time before the first retry, in milliseconds. It doubles with each further retry.
const FIRST_BACKOFF = 100;

// Upper limit of the minimum time, in milliseconds.
const MAX_BACKOFF = 8_000;

// Returns the time before the next attempt, in milliseconds; `undefined` if the request must not be sent
// again. `attempts` counts the requests sent, `left` is the rest of the total timeout.
//
// It is the longer of an exponential backoff and the time that the response names, plus a random time, so
// that clients that failed together do not all retry at once.
export function retryDelay(error, { method }, attempts, left) {
  if (attempts >= MAX_ATTEMPTS) return undefined;
  const backoff = Math.min(MAX_BACKOFF, FIRST_BACKOFF * 2 ** (attempts - 1));
  const named = namedTime(error, method, attempts);
  if (named === undefined) return undefined;
  const delay = Math.max(named, backoff);
  if (delay >= left) return undefined;
  const jitter = (Math.random() * backoff) / 2;
  return delay + jitter < left ? delay + jitter : delay;
}

// Returns the time named by the response (in ms); `undefined` if the request must not be sent again.
function namedTime({ kind, code, status, retryAfter }, method, attempts) {
  // The server closed an idle connection. Another request may already have taken effect.
  if (code === "no_response") return method === "GET" && attempts === 1 ? 0 : undefined;
  if (retryAfter === undefined) return undefined;
  // A gateway that reports 502 or 504 may have passed the request on.
  const canRepeat = status === 503 || (method === "GET" && (status === 502 || status === 504));
  return kind === "rate_limited" || canRepeat ? retryAfter * 1000 : undefined;
}
