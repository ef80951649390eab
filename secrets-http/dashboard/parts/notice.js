// Short notices: shown for a time, and read by screen readers.

import { signal } from "@preact/signals";

import { words } from "../words.js";
import { html } from "./html.js";
import { Icon } from "./icons.js";

const SHOWN_FOR = 8_000;

/** @typedef {{ text: string, isBad?: boolean, action?: { label: string, run: () => void } }} Notice */

const notice = signal(/** @type {Notice | null} */ (null));
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** Shows a notice, and removes the previous one. @param {Notice} next */
export function notify(next) {
  notice.value = next;
  clearTimeout(timer);
  timer = setTimeout(dismiss, SHOWN_FOR);
}

export function dismiss() {
  clearTimeout(timer);
  notice.value = null;
}

export function Notices() {
  const shown = notice.value;
  const action = shown?.action;
  return html`<div class="notices" role="status">
    ${shown &&
    html`<div class=${shown.isBad ? "notice bad" : "notice"}>
      <span>${shown.text}</span>
      ${action && html`<button class="link" onClick=${action.run}>${action.label}</button>`}
      <button class="bare" aria-label=${words.close} onClick=${dismiss}><${Icon} name="close" /></button>
    </div>`}
  </div>`;
}
