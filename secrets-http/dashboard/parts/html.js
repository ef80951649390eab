// Templates: `html` turns a tagged template into elements. Text is never parsed as HTML.

import htm from "htm";
import { h } from "preact";

/** @type {(strings: TemplateStringsArray, ...values: any[]) => any} */
export const html = htm.bind(h);
