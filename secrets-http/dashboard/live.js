// Changes of other people, through the event stream of a project.

import { api } from "./api.js";

/** Time after which the stream is closed while the page is not visible, in milliseconds. */
const UNSEEN_FOR = 60_000;

/** Time to wait before a refused stream is opened again, in milliseconds. */
const RETRY_AFTER = 30_000;

/** Time during which events are handled together, in milliseconds: a change set causes one event for each environment. */
const TOGETHER = 100;

/**
 * Watches a project until the returned function is called.
 * @param {string} project @param {() => void} onChange
 */
export function watch(project, onChange) {
  /** @type {EventSource | null} */
  let source = null;
  /** @type {Record<string, ReturnType<typeof setTimeout> | undefined>} */
  const timers = {};
  const later = (/** @type {string} */ name, /** @type {() => void} */ run, /** @type {number} */ time) => {
    clearTimeout(timers[name]);
    timers[name] = setTimeout(run, time);
  };
  const close = () => {
    source?.close();
    source = null;
    clearTimeout(timers.retry);
  };
  const open = () => {
    if (source) return;
    source = api.watch(project);
    source.addEventListener("message", () => later("change", onChange, TOGETHER));
    source.addEventListener("error", () => {
      // The browser connects again by itself after a lost connection, but not after a refusal.
      if (source?.readyState !== EventSource.CLOSED) return;
      close();
      if (document.visibilityState === "visible") later("retry", open, RETRY_AFTER);
    });
  };
  const onVisibility = () => {
    clearTimeout(timers.unseen);
    if (document.visibilityState === "hidden") later("unseen", close, UNSEEN_FOR);
    else open();
  };
  document.addEventListener("visibilitychange", onVisibility);
  open();
  return () => {
    document.removeEventListener("visibilitychange", onVisibility);
    Object.values(timers).forEach((timer) => clearTimeout(timer));
    close();
  };
}
