// Ways to load the installed package in Node.js: `init`, a bundler, CommonJS and a worker.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";

import { installed, packed, root, target, vectorsOf } from "./places.mjs";

const { openBundleInWorker, SecretsError } = await import(pathToFileURL(join(packed, "worker.node.js")));

const { vectors } = vectorsOf("bundle.json");
const golden = vectors.find(({ name }) => name === "golden bundle");
const ofPassphrase = vectors.find(({ name }) => name === "for a passphrase, with the costs of ours");
const file = Buffer.from(golden.bundle, "base64");
const options = { key: golden.unlock.text, now: golden.now };
const keys = golden.secrets.map(({ key }) => key);

// Runs a program in a folder, and returns its output.
function run(code, { folder = installed, name = "program.mjs" } = {}) {
  const path = join(folder, name);
  writeFileSync(path, code);
  return execFileSync(process.execPath, [path], { cwd: folder, encoding: "utf8", timeout: 60_000 });
}

// Opens the golden bundle with `openBundle` and prints its keys.
const OPEN = `
  const file = Buffer.from(${JSON.stringify(golden.bundle)}, "base64");
  console.log(JSON.stringify(openBundle(file, ${JSON.stringify(options)}).secrets.map(({ key }) => key)));
`;

const sources = {
  bytes: "readFileSync(path)",
  "an ArrayBuffer": "Uint8Array.from(readFileSync(path)).buffer",
  "a compiled module": "new WebAssembly.Module(readFileSync(path))",
  "the promise of a response":
    'Promise.resolve(new Response(readFileSync(path), { headers: { "content-type": "application/wasm" } }))',
  "an address": 'new URL(`data:application/wasm;base64,${readFileSync(path, "base64")}`)',
};
for (const [name, source] of Object.entries(sources)) {
  test(`init loads a module from ${name}, and calls before are refused`, () => {
    for (const [entry, wasm] of [["secrets-service/init", "secrets.wasm"], ["secrets-service/bundle/init", "bundle.wasm"]]) {
      const output = run(`
        import { readFileSync } from "node:fs";
        import { webcrypto } from "node:crypto";
        import { init, openBundle, SecretsError } from "${entry}";
        globalThis.crypto ??= webcrypto;
        const path = new URL(import.meta.resolve("secrets-service/${wasm}"));
        for (const source of [undefined, null, 7, {}, []]) {
          const error = await init(source).catch((error) => error);
          if (!(error instanceof SecretsError) || error.kind !== "invalid") throw error;
        }
        try {
          openBundle(new Uint8Array(), { key: "" });
          throw new Error("it was not refused");
        } catch (error) {
          if (error.message !== "the module is not loaded: await init(source) first") throw error;
        }
        await Promise.all([init(${source}), init(${source})]);
        await init(${source});
        ${OPEN}
      `);
      assert.deepEqual(JSON.parse(output), keys);
    }
  });
}

for (const format of ["esm", "cjs"]) {
  test(`a bundler that copies no files can include the module: esbuild, ${format}`, () => {
    const folder = join(target, "test/loading", format);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const source = join(installed, "bundled.mjs");
    writeFileSync(source, `
      import wasm from "secrets-service/bundle.wasm";
      import { init, openBundle } from "secrets-service/bundle/init";
      init(wasm).then(() => { ${OPEN} });
    `);
    const output = join(folder, format === "cjs" ? "program.cjs" : "program.mjs");
    const flags = ["--bundle", "--minify", "--target=node18", `--format=${format}`, "--loader:.wasm=binary", "--log-level=warning", `--outfile=${output}`];
    const said = execFileSync(join(root, "tests/wasm/node_modules/.bin/esbuild"), [source, ...flags], { encoding: "utf8" });

    assert.equal(said, "");
    // Without its errors, which would quote the whole module.
    const { status, stdout } = spawnSync(process.execPath, [output], { cwd: folder, encoding: "utf8", timeout: 60_000 });
    assert.equal(status, 0);
    assert.deepEqual(JSON.parse(stdout), keys);
  });
}

test("CommonJS requires the package where Node.js can require modules", () => {
  const code = `
    const { openBundle } = require("secrets-service/bundle");
    const { Service, SecretsError } = require("secrets-service");
    const { Client } = require("secrets-service/client");
    if (typeof Client !== "function" || typeof Service.memory !== "function") throw new Error("no class");
    if (SecretsError !== require("secrets-service/worker").SecretsError) throw new Error("two classes");
    ${OPEN}
  `;
  if (process.features.require_module) assert.deepEqual(JSON.parse(run(code, { name: "program.cjs" })), keys);
  else assert.throws(() => run(code, { name: "program.cjs" }), /ERR_REQUIRE_ESM/);
});

test("a bundle opens in a worker, and the caller keeps its bytes", async () => {
  const opened = await openBundleInWorker(file, options);

  assert.deepEqual(opened.secrets.map(({ key }) => key), keys);
  assert.doesNotMatch(inspect(opened), /kvc_/);
  assert.equal(file.length, Buffer.from(golden.bundle, "base64").length);
  const whole = Uint8Array.from(Buffer.from(ofPassphrase.bundle, "base64"));
  const { secrets } = await openBundleInWorker(whole.buffer, { passphrase: ofPassphrase.unlock.text, now: ofPassphrase.now });
  assert.equal(secrets.length, ofPassphrase.secrets.length);
});

test("an error of a worker is that of the function, with the stack of the caller", async () => {
  async function callerOfTheWorker() {
    await openBundleInWorker(file.subarray(1), options);
  }

  await assert.rejects(callerOfTheWorker, (error) => {
    assert.ok(error instanceof SecretsError);
    assert.equal(error.kind, "malformed");
    assert.match(error.stack, /callerOfTheWorker/);
    return true;
  });
  await assert.rejects(openBundleInWorker(file, { ...options, atleast: 1 }), { kind: "invalid", message: "atleast is not an option of openBundle: use atLeast" });
  await assert.rejects(openBundleInWorker("text", options), { message: "bundle must be an ArrayBuffer or a view of one" });
  await assert.rejects(openBundleInWorker(file, options, { deadline: 1 }), { message: "deadline is not an option of openBundleInWorker" });
});

test("a worker has a timeout and can be cancelled", async () => {
  const reason = new Error("no longer needed");
  const controller = new AbortController();
  const opening = openBundleInWorker(file, options, { signal: controller.signal });
  controller.abort(reason);

  await assert.rejects(opening, reason);
  await assert.rejects(openBundleInWorker(file, options, { signal: AbortSignal.abort(reason) }), reason);
  // A worker thread takes longer than this to start.
  await assert.rejects(openBundleInWorker(file, options, { timeout: 0.01 }), { kind: "internal", code: "timeout" });
});

test("a program without a file opens a bundle in a worker, and ends", () => {
  const code = `
    import { openBundleInWorker } from "secrets-service/worker";
    const file = Buffer.from(${JSON.stringify(golden.bundle)}, "base64");
    const { secrets } = await openBundleInWorker(file, ${JSON.stringify(options)});
    console.log(JSON.stringify(secrets.map(({ key }) => key)));
  `;
  const flags = ["--input-type=module", "-e", code];
  const output = execFileSync(process.execPath, flags, { cwd: installed, encoding: "utf8", timeout: 60_000 });

  assert.deepEqual(JSON.parse(output), keys);
});
