// Width of the window.

import { signal } from "@preact/signals";

const query = matchMedia("(max-width: 639px)");

/** True if the window is too narrow for several environments side by side. */
export const isNarrow = signal(query.matches);

query.addEventListener("change", () => {
  isNarrow.value = query.matches;
});
