// Pasted text and dropped files. The code of their dialog is loaded when it is needed.

import { useEffect } from "preact/hooks";

import { notify } from "../parts/notice.js";
import { words } from "../words.js";

/** Maximum size of a dropped file, in bytes. */
const MAX_BYTES = 4 * 1024 * 1024;

/** @typedef {import("./state.js").GridState} GridState */

/**
 * `.env` text to import when a project is opened, by the project's slug.
 * @type {Map<string, string>}
 */
export const given = new Map();

/** Reads a dropped file. Returns `null`, with a notice, if the file is too large. @param {File} file */
export async function textOf(file) {
  if (file.size <= MAX_BYTES) return file.text();
  notify({ text: words.large, isBad: true });
  return null;
}

/** True if a dialog is open. Pasted text and dropped files are then ignored. */
export const isBusy = () => document.querySelector("dialog[open]") !== null;

/**
 * Opens a window with the changes that `.env` text would make to the environment at index `place`.
 * @param {GridState} grid @param {number | undefined} place @param {string} text
 */
export async function offer(grid, place, text) {
  try {
    (await import("../windows/paste.js")).offer(grid, place, text);
  } catch {
    notify({ text: words.errors.network, isBad: true });
  }
}

/**
 * Returns the index of the environment below the pointer, or else of the active environment.
 * @param {GridState} grid @param {DragEvent} event
 */
function placeBelow(grid, event) {
  const element = event.target instanceof Element ? event.target : null;
  const cell = element?.closest("[aria-colindex]")?.getAttribute("aria-colindex");
  return cell && Number(cell) >= 2 ? Number(cell) - 2 : (grid.target().place ?? grid.columns.value[0]);
}

/** Listens for files dropped on the page. @param {(file: File, event: DragEvent) => void} onFile */
export function useDrop(onFile) {
  useEffect(() => {
    const onDragOver = (/** @type {DragEvent} */ event) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    };
    const onDrop = (/** @type {DragEvent} */ event) => {
      const file = event.dataTransfer?.files[0];
      if (!file) return;
      // Otherwise the browser would open the file instead of this page.
      event.preventDefault();
      if (!isBusy()) onFile(file, event);
    };
    document.addEventListener("dragover", onDragOver);
    document.addEventListener("drop", onDrop);
    return () => {
      document.removeEventListener("dragover", onDragOver);
      document.removeEventListener("drop", onDrop);
    };
  }, []);
}

/** Offers to import pasted text and dropped files. @param {GridState} grid */
export function usePaste(grid) {
  useDrop(async (file, event) => {
    const place = placeBelow(grid, event);
    const text = await textOf(file);
    if (text !== null) await offer(grid, place, text);
  });
  useEffect(() => {
    const onPaste = async (/** @type {ClipboardEvent} */ event) => {
      const text = event.clipboardData?.getData("text/plain") ?? "";
      if (isBusy() || !text.includes("=") || document.activeElement?.matches("input, textarea, select")) return;
      const place = grid.target().place ?? grid.columns.value[0];
      const { isDotenv } = await import("../windows/dotenv.js").catch(() => ({ isDotenv: () => true }));
      if (isDotenv(text)) await offer(grid, place, text);
    };
    document.addEventListener("paste", onPaste);
    return () => document.removeEventListener("paste", onPaste);
  }, []);
}
