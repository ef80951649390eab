// The legend: icons and keyboard shortcuts.

import { hasLetterKeys, setLetterKeys } from "../parts/browser.js";
import { Icon, html } from "../parts/html.js";
import { Dialog } from "../parts/messages.js";
import { words } from "./words.js";

/** Window that explains the icons and the keyboard shortcuts. @param {{ onClose: () => void }} properties */
export function Legend({ onClose }) {
  return html`<${Dialog} title=${words.legend.title} onClose=${onClose}>
    <h3>${words.legend.marks}</h3>
    <ul class="marks">
      ${words.legend.list.map(([mark, meaning]) => html`<li class=${`mark-${mark}`}><${Icon} name=${mark} /><span>${meaning}</span></li>`)}
    </ul>
    <h3>${words.legend.keys}</h3>
    <table class="shortcuts"><tbody>
      ${words.legend.shortcuts.map(([keys, meaning]) => html`<tr><th scope="row"><kbd>${keys}</kbd></th><td>${meaning}</td></tr>`)}
    </tbody></table>
    <label class="check">
      <input type="checkbox" checked=${hasLetterKeys.value} onChange=${(/** @type {any} */ event) => setLetterKeys(event.target.checked)} />
      ${words.legend.letters}
    </label>
  <//>`;
}
