// Templates and icons. `html` turns a tagged template into elements. Text is never parsed as HTML.

import htm from "htm";
import { h } from "preact";

/** @type {(strings: TemplateStringsArray, ...values: any[]) => any} */
export const html = htm.bind(h);

/** SVG paths of filled icons. @type {Record<string, string>} */
const FILLED = {
  own: "M8 4.2a3.8 3.8 0 1 0 0 7.6 3.8 3.8 0 0 0 0-7.6z",
  override: "M8 2.9 13.1 8 8 13.1 2.9 8z",
};

const CROSSED = "M8 2.8a5.2 5.2 0 1 0 0 10.4A5.2 5.2 0 0 0 8 2.8zM4.4 4.4l7.2 7.2";

/** SVG paths of line icons. @type {Record<string, string>} */
const DRAWN = {
  inherited: "M8 13V3.6M4.2 7.2 8 3.4l3.8 3.8",
  hidden: CROSSED,
  inheritedHidden: CROSSED,
  managed: "M13 7.6A5 5 0 0 0 4.2 4.9M3 8.4a5 5 0 0 0 8.8 2.7M4 2.2v2.9h2.9M12 13.8v-2.9H9.1",
  missing: "M8 4.2a3.8 3.8 0 1 0 0 7.6 3.8 3.8 0 0 0 0-7.6z",
  noAccess: "M5.2 7.4V5.8a2.8 2.8 0 0 1 5.6 0v1.6M4.2 7.4h7.6v5.4H4.2z",
  equal: "M3.5 5.5h9M3.5 8h9M3.5 10.5h9",
  compare: "M2.5 5.5h10M9.8 2.8l2.7 2.7-2.7 2.7M13.5 10.5h-10M6.2 7.8l-2.7 2.7 2.7 2.7",
  edited: "M10.6 3.2l2.2 2.2-7 7-2.9.7.7-2.9zM9 4.8 11.2 7",
  conflict: "M8 2.6 14 13H2zM8 6.4v3M8 11.2v.1",
  plus: "M8 3.5v9M3.5 8h9",
  eye: "M1.8 8S4 3.8 8 3.8 14.2 8 14.2 8 12 12.2 8 12.2 1.8 8 1.8 8zM8 6.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6z",
  eyeOff: "M6.4 4A6 6 0 0 1 8 3.8c4 0 6.2 4.2 6.2 4.2a11 11 0 0 1-1.7 2.2M4.2 5.2A10.5 10.5 0 0 0 1.8 8S4 12.2 8 12.2a6 6 0 0 0 2.7-.6M2.5 2.5l11 11",
  copy: "M5.8 5.8h7.4v7.4H5.8zM10.2 5.8V2.8H2.8v7.4h3",
  close: "M4 4l8 8M12 4l-8 8",
  search: "M7 2.8a4.2 4.2 0 1 0 0 8.4 4.2 4.2 0 0 0 0-8.4zM10.2 10.2l3.3 3.3",
  help: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM6.2 6.3a1.9 1.9 0 1 1 2.5 1.9c-.5.2-.7.5-.7 1.1M8 11.3v.1",
  system: "M2.5 3.5h11v7.5h-11zM6 13.5h4M8 11v2.5",
  light: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7",
  dark: "M13 9.6A5.4 5.4 0 0 1 6.4 3a5.4 5.4 0 1 0 6.6 6.6z",
  down: "M4.5 6.5 8 10l3.5-3.5",
  right: "M6.5 4.5 10 8l-3.5 3.5",
  terminal: "M2.5 3.5h11v9h-11zM5 6.2l2 1.8-2 1.8M8.5 10h2.5",
  download: "M8 2.8v7M4.8 7 8 10.2 11.2 7M3 13.2h10",
  lock: "M5 7V5.5a3 3 0 0 1 6 0V7M4.3 7h7.4a1 1 0 0 1 1 1v4.2a1 1 0 0 1-1 1H4.3a1 1 0 0 1-1-1V8a1 1 0 0 1 1-1z",
};

/** @param {{ name: string }} properties */
export function Icon({ name }) {
  const isFilled = name in FILLED;
  return html`<svg class=${`icon ${isFilled ? "filled" : "drawn"} icon-${name}`} viewBox="0 0 16 16" aria-hidden="true">
    <path d=${isFilled ? FILLED[name] : DRAWN[name]} />
  </svg>`;
}
