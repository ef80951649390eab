// Web worker that opens one bundle.

import { init, openBundle } from "./bundle.init.js";
import { answer, notLoaded } from "./worker.core.js";

// Not awaited here: a message that arrives before the listener exists would be lost.
const loaded = init(new URL("./bundle/secrets_bg.wasm", import.meta.url));
// Prevents an unhandled rejection: the error is sent as the response to the message.
loaded.catch(() => {});

onmessage = async ({ data }) => {
  postMessage(await loaded.then(() => answer(openBundle, data), notLoaded));
};
