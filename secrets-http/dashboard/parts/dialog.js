// Modal dialogs, which give the focus back when they close.

import { useId, useLayoutEffect, useRef } from "preact/hooks";

import { words } from "../words.js";
import { html } from "./html.js";
import { Icon } from "./icons.js";

/**
 * @param {{ title: string, onClose: () => void, children?: any, actions?: any, hasClose?: boolean,
 *   kind?: string }} properties
 */
export function Dialog({ title, onClose, children, actions, hasClose = true, kind = "" }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const id = useId();
  // Cleaned up before the page is painted, so that the focus returns when the dialog closes.
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      dialog.current?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const cancel = (/** @type {Event} */ event) => {
    event.preventDefault();
    onClose();
  };
  return html`<dialog ref=${dialog} class=${kind} aria-labelledby=${id} onCancel=${cancel}>
    <header>
      <h2 id=${id}>${title}</h2>
      ${hasClose && html`<button class="bare" aria-label=${words.close} onClick=${onClose}><${Icon} name="close" /></button>`}
    </header>
    <div class="content" tabindex="0">${children}</div>
    ${actions && html`<footer>${actions}</footer>`}
  </dialog>`;
}
