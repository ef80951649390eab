// HTTP client for Node.js, which can read its token from a file.

import "./environment.node.js";

export * from "./client.js";
