// Worker that opens bundles, so that deriving a key does not block the page. Its memory is freed when
// it is terminated.
"use strict";

onmessage = ({ data: { module, task, ...given } }) => {
  if (module) {
    wasm_bindgen.initSync({ module });
    return;
  }
  try {
    postMessage({ value: tasks[task](given) });
  } catch (error) {
    postMessage({ error: { kind: error.kind ?? "internal", message: error.message, fields: error.fields } });
  }
};

const tasks = {
  open: ({ bytes, options }) => wasm_bindgen.openBundle(bytes, options),
  render: ({ secrets, format, name }) => wasm_bindgen.render(secrets, format, name),
};
