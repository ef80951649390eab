// Windows over the grid. They are loaded after the grid is shown.

import { html } from "../parts/html.js";
import { ColumnQuestion } from "./column.js";
import { Compare } from "./compare.js";
import { Editor } from "./edit.js";
import { KeyPanel } from "./history.js";
import { Legend } from "./legend.js";
import { Pasted } from "./paste.js";
import { Review } from "./review.js";
import { CopyTo } from "./selected.js";

export { Selection } from "./selected.js";

/**
 * All windows over the grid. The state of the grid determines which are open.
 * @param {{ grid: import("../grid/state.js").GridState, reload: any, read: any }} properties
 */
export function Windows({ grid, reload, read }) {
  const asked = grid.asked.value;
  const editing = grid.editing.value;
  const name = grid.historyOf.value;
  const pasted = grid.pasted.value;
  return html`${grid.isLegendOpen.value && html`<${Legend} onClose=${() => (grid.isLegendOpen.value = false)} />`}
    ${asked !== null && html`<${ColumnQuestion} grid=${grid} place=${asked} />`}
    ${editing && html`<${Editor} grid=${grid} at=${editing === "new" ? null : editing} read=${read} />`}
    ${pasted && html`<${Pasted} grid=${grid} plan=${pasted} />`}
    ${grid.isCopying.value && html`<${CopyTo} grid=${grid} />`}
    ${grid.isComparing.value && html`<${Compare} grid=${grid} />`}
    ${name !== null && html`<${KeyPanel} grid=${grid} name=${name} reload=${reload} read=${read} />`}
    ${grid.isReviewing.value && html`<${Review} grid=${grid} reload=${reload} read=${read} />`}`;
}
