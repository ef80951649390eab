// Where tests find what the suite made, and the data that is asked of every host.

import { readFileSync, readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const target = resolve(process.env.CARGO_TARGET_DIR ?? join(root, "target"));

// The folder into which the package was installed, and the package there.
export const installed = join(target, "test/npm");
export const packed = join(installed, "node_modules/secrets-service");

// The program, whose document the declarations are made of.
export const program = join(target, "debug/secrets-http");

// What servers write, which is searched for values at the end.
export const data = process.env.SECRETS_TEST_FOLDER ?? join(target, "test/data");
export const logs = process.env.SECRETS_TEST_LOGS ?? join(target, "test/logs");

// What a browser writes: profiles and pictures.
export const pictures = join(target, "test/browser");
export const profile = (name) => join(pictures, `profile-${name}`);

// The page of the viewer, as it is built.
export const viewer = join(target, "offline-viewer/index.html");

export const vectors = join(root, "tests/vectors");
export const vectorFiles = readdirSync(vectors).filter((name) => name.endsWith(".json"));
export const vectorsOf = (name) => JSON.parse(readFileSync(join(vectors, name), "utf8"));

// The behavioural cases, by the names of their files.
export function cases() {
  const folder = join(root, "tests/cases/data");
  const names = readdirSync(folder).filter((name) => name.endsWith(".json")).sort();
  return names.map((name) => [basename(name, ".json"), JSON.parse(readFileSync(join(folder, name), "utf8"))]);
}
