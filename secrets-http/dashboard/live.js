// Changes that others make to a project, from its event stream. If several windows of a browser
// show the project, one opens the stream and notifies the others.

import { api, person, session } from "./api.js";

/** Time after which a window that is not visible closes the event stream, in ms. */
const UNSEEN_FOR = 60_000;

/** Time to wait before an event stream that was refused is opened again, in ms. */
const RETRY_AFTER = 30_000;

/** Time for which events are collected, in ms: one change can cause several events. */
const TOGETHER = 100;

/**
 * Keeps the event stream of a project open until `signal` is aborted.
 * @param {string} project @param {() => void} onEvent @param {AbortSignal} signal
 */
function stream(project, onEvent, signal) {
  /** @type {EventSource} */
  let source;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let retry;
  const open = () => {
    source = api.watch(project);
    source.addEventListener("message", onEvent);
    source.addEventListener("error", refused);
  };
  // The browser reconnects by itself after a lost connection, but not after a refusal.
  const refused = async () => {
    if (source.readyState !== EventSource.CLOSED) return;
    // If the session has ended, this request shows it to the user.
    await api.me().catch(() => {});
    again();
  };
  const again = () => {
    if (signal.aborted) return;
    retry = setTimeout(() => (session.value === "in" ? open() : again()), RETRY_AFTER);
  };
  open();
  signal.addEventListener("abort", () => {
    clearTimeout(retry);
    source.close();
  });
}

/**
 * Like `stream`, but opens the stream only while no other window of this browser has it open.
 * @param {string} name @param {string} project @param {() => void} onEvent @param {AbortSignal} signal
 */
function streamAlone(name, project, onEvent, signal) {
  const hold = () =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve(null);
      stream(project, onEvent, signal);
      signal.addEventListener("abort", resolve);
    });
  // Waiting ends with an error when it is aborted.
  navigator.locks.request(name, { signal }, hold).catch(() => {});
}

/**
 * Calls `onChange` after changes to a project's secrets, until the returned function is called.
 * @param {string} project @param {() => void} onChange
 */
export function watch(project, onChange) {
  const name = `secrets-watch ${person.value?.id} ${project}`;
  const channel = new BroadcastChannel(name);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let unseen;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let change;
  let holding = /** @type {AbortController | null} */ (null);
  const changed = () => {
    clearTimeout(change);
    change = setTimeout(onChange, TOGETHER);
  };
  // A stream begins with the current state, so a window that takes it over misses nothing.
  const onEvent = () => {
    channel.postMessage("changed");
    changed();
  };
  const begin = () => {
    if (holding) return;
    holding = new AbortController();
    streamAlone(name, project, onEvent, holding.signal);
  };
  const end = () => {
    holding?.abort();
    holding = null;
  };
  const onVisibility = () => {
    clearTimeout(unseen);
    if (document.visibilityState === "hidden") unseen = setTimeout(end, UNSEEN_FOR);
    else begin();
  };
  channel.addEventListener("message", changed);
  document.addEventListener("visibilitychange", onVisibility);
  begin();
  return () => {
    document.removeEventListener("visibilitychange", onVisibility);
    clearTimeout(unseen);
    clearTimeout(change);
    channel.close();
    end();
  };
}
