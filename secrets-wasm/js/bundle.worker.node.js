// Worker thread that opens one bundle.

import { parentPort } from "node:worker_threads";

import { openBundle } from "./bundle.node.js";
import { answer } from "./worker.core.js";

parentPort.once("message", (message) => parentPort.postMessage(answer(openBundle, message)));
