// Copying a value without showing it.

import { ApiError } from "../api.js";
import { notify } from "../parts/notice.js";
import { errorText } from "../parts/states.js";
import { words } from "../words.js";

/**
 * Copies a value to the clipboard. Writing begins while the value is loading, because browsers
 * allow it only shortly after a key press or click.
 * @param {Promise<string>} value
 */
async function write(value) {
  const blob = value.then((text) => new Blob([text], { type: "text/plain" }));
  const written = navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
  // Awaited below, after the value, because the error of reading the value is more helpful.
  written.catch(() => {});
  await value;
  await written;
}

async function clear() {
  try {
    await navigator.clipboard.writeText("");
    notify({ text: words.cleared });
  } catch {
    notify({ text: words.clearRefused, isBad: true });
  }
}

/**
 * Reads a value and copies it to the clipboard. The audit log records it. If the browser refuses to
 * copy, the value is shown and selected.
 * @param {import("./state.js").GridState} grid
 * @param {(environment: string, key: string) => Promise<string>} read
 * @param {{ id: string, name: string }} environment @param {string} key
 */
export async function copy(grid, read, environment, key) {
  const value = read(environment.id, key);
  try {
    if (!navigator.clipboard) throw new Error("no clipboard");
    await write(value);
    const action = { label: words.clearClipboard, run: clear };
    notify({ text: words.copiedOf(key, environment.name), action });
  } catch (error) {
    if (error instanceof ApiError) return notify({ text: errorText(error), isBad: true });
    const text = await value.catch((failed) => notify({ text: errorText(failed), isBad: true }));
    if (typeof text !== "string") return;
    grid.isSelecting.value = true;
    grid.values.show(environment.id, key, text);
    notify({ text: words.copyRefused, isBad: true });
  }
}
