// Paths of build outputs and shared test data.

import { readFileSync, readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const target = resolve(process.env.CARGO_TARGET_DIR ?? join(root, "target"));

// Folder in which the package is installed, and the package in it.
export const installed = join(target, "test/npm");
export const packed = join(installed, "node_modules/secrets-service");

// Server program. Its OpenAPI document is the source of the declarations.
export const program = join(target, "debug/secrets-http");

// Data and logs of servers, which are searched for secret values at the end.
export const data = process.env.SECRETS_TEST_FOLDER ?? join(target, "test/data");
export const logs = process.env.SECRETS_TEST_LOGS ?? join(target, "test/logs");

// Browser profiles and screenshots.
export const pictures = join(target, "test/browser");
export const profile = (name) => join(pictures, `profile-${name}`);

// Page of the offline viewer, as built.
export const viewer = join(target, "offline-viewer/index.html");

export const vectors = join(root, "tests/vectors");
export const vectorFiles = readdirSync(vectors).filter((name) => name.endsWith(".json"));
export const vectorsOf = (name) => JSON.parse(readFileSync(join(vectors, name), "utf8"));

// Behavioural cases, by file name.
export function cases() {
  const folder = join(root, "tests/cases/data");
  const names = readdirSync(folder).filter((name) => name.endsWith(".json")).sort();
  return names.map((name) => [basename(name, ".json"), JSON.parse(readFileSync(join(folder, name), "utf8"))]);
}
