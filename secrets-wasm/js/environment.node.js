// Reads the files that environment variables name, in Node.js.

import { readFileSync } from "node:fs";

import { platform } from "./environment.js";

platform.readFile = (path) => readFileSync(path, "utf8");
