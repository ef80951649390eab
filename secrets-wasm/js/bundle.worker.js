// Web worker that opens one bundle.

import { init, openBundle } from "./bundle.init.js";
import { answer } from "./worker.core.js";

// Not awaited here: a message that arrives before the listener exists would be lost.
const loaded = init(new URL("./bundle/secrets_bg.wasm", import.meta.url));

onmessage = async ({ data }) => {
  await loaded.catch(() => {});
  postMessage(answer(openBundle, data));
};
