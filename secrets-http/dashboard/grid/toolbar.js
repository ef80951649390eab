// Toolbar of the grid.

import { html } from "../parts/html.js";
import { Icon } from "../parts/icons.js";
import { count } from "../parts/time.js";
import { words } from "../words.js";
import { isWritable } from "./editing.js";
import { SHOWS } from "./marks.js";

/** @type {Record<string, string>} */
const ICONS = { missing: "missing", override: "override", hidden: "hidden", managed: "managed" };

/** @param {{ grid: import("./state.js").GridState, onEqual: () => void }} properties */
export function Toolbar({ grid, onEqual }) {
  const shows = grid.shows.value;
  const counts = grid.counts.value;
  const onKeyDown = (/** @type {any} */ event) => {
    if (event.key === "Escape" && event.target.value) {
      event.preventDefault();
      grid.setText("");
    } else if (event.key === "Enter" || event.key === "ArrowDown" || event.key === "Escape") {
      event.preventDefault();
      document.getElementById("grid")?.focus();
    }
  };
  return html`<div class="toolbar" role="group" aria-label=${words.grid.filter}>
    <label class="search"><${Icon} name="search" />
      <input
        id="filter"
        type="search"
        aria-label=${words.grid.filter}
        placeholder=${words.grid.filter}
        autocomplete="off"
        spellcheck="false"
        value=${grid.text.value}
        onInput=${(/** @type {any} */ event) => grid.setText(event.target.value)}
        onKeyDown=${onKeyDown}
      /><kbd>/</kbd>
    </label>
    <div class="chips">
      ${SHOWS.map(
        (show, place) => html`<button
          key=${show}
          class=${`chip mark-${show}`}
          aria-pressed=${shows.has(show)}
          disabled=${!counts[place] && !shows.has(show)}
          onClick=${() => grid.toggle(show)}
        >
          ${ICONS[show] && html`<${Icon} name=${ICONS[show]} />`}${words.grid.shows[show]} <span class="number">${count(counts[place])}</span>
        </button>`,
      )}
    </div>
    <div class="rest">
      ${grid.environments.value.some(isWritable) &&
      html`<button onClick=${() => (grid.editing.value = "new")}><${Icon} name="plus" />${words.edit.add}</button>`}
      <button class="chip" aria-pressed=${grid.isEqual.value} title=${words.grid.equalHint} onClick=${onEqual}>
        <${Icon} name="equal" />${words.grid.equal}
      </button>
      <button class="bare" aria-label=${words.grid.legend} title=${`${words.grid.legend} (?)`} onClick=${() => (grid.isLegendOpen.value = true)}>
        <${Icon} name="help" />
      </button>
    </div>
  </div>`;
}
