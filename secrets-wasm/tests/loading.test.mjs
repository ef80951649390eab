// Ways to load the installed package in Node.js: `init`, a bundler, CommonJS and a worker.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { inspect, promisify } from "node:util";
import { brotliCompress, gzip, gzipSync } from "node:zlib";

import { installed, packed, root, target, vectorsOf } from "./places.mjs";
import { readme } from "./readme.mjs";

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
  "a response of another type": "new Response(readFileSync(path))",
  "a request": 'new Request(`data:application/wasm;base64,${readFileSync(path, "base64")}`)',
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
        for (const source of [undefined, null, 7, {}, [], await import("${entry}")]) {
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

test("a pending init does not replace a module that was loaded meanwhile", () => {
  const output = run(`
    import { readFileSync } from "node:fs";
    import { init } from "secrets-service/init";
    const path = new URL(import.meta.resolve("secrets-service/secrets.wasm"));
    const pending = init(readFileSync(path));
    const { Service } = await import("secrets-service");
    const session = await (await Service.memory()).signIn({ issuer: "tests", subject: "alice", email: "alice@example.com" });
    await session.project.create({ name: "Shop" });
    await pending;
    console.log(JSON.stringify((await session.project.list()).map(({ name }) => name)));
  `);

  assert.deepEqual(JSON.parse(output), ["Shop"]);
});

test("init without a source of random bytes is refused where the module needs one", () => {
  const output = run(`
    import { readFileSync } from "node:fs";
    Object.defineProperty(globalThis, "crypto", { value: undefined, configurable: true, writable: true });
    const outcomes = [];
    for (const [entry, wasm] of [["secrets-service/init", "secrets.wasm"], ["secrets-service/bundle/init", "bundle.wasm"]]) {
      const { init } = await import(entry);
      const loading = init(readFileSync(new URL(import.meta.resolve(\`secrets-service/\${wasm}\`))));
      outcomes.push(await loading.then(() => "loaded", ({ kind, message }) => [kind, message]));
    }
    console.log(JSON.stringify(outcomes));
  `);

  const message = "globalThis.crypto is missing: set it to webcrypto of node:crypto before init";
  assert.deepEqual(JSON.parse(output), [["invalid", message], "loaded"]);
});

test("init loads a module where large modules are not instantiated synchronously", () => {
  const output = run(`
    import { readFileSync } from "node:fs";
    import { init, openBundle } from "secrets-service/bundle/init";
    const { Instance } = WebAssembly;
    WebAssembly.Instance = class {
      static [Symbol.hasInstance] = (value) => value instanceof Instance;
      constructor() {
        throw new RangeError("WebAssembly.Instance is disallowed on the main thread");
      }
    };
    const file = readFileSync(new URL(import.meta.resolve("secrets-service/bundle.wasm")));
    await Promise.all([init(file), init(file)]);
    ${OPEN.replace("const file", "const bundle").replace("openBundle(file", "openBundle(bundle")}
  `);

  assert.deepEqual(JSON.parse(output), keys);
});

test("init rejects a response that is no module", async () => {
  const { init } = await import(pathToFileURL(join(packed, "bundle.init.js")));

  await assert.rejects(init(new Response("<html>")), WebAssembly.CompileError);
  await assert.rejects(init(new Response("", { status: 404 })), TypeError);
});

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
    const built = spawnSync(join(root, "tests/wasm/node_modules/.bin/esbuild"), [source, ...flags], { encoding: "utf8" });

    // Warnings are written to the standard error.
    assert.deepEqual([built.status, built.stdout, built.stderr], [0, "", ""]);
    // Discards standard error, which would quote the whole module.
    const { status, stdout } = spawnSync(process.execPath, [output], { cwd: folder, encoding: "utf8", timeout: 60_000 });
    assert.equal(status, 0);
    assert.deepEqual(JSON.parse(stdout), keys);
  });
}

const sentences = readme.replace(/\s+/g, " ");

test("the README names the size of the client", () => {
  const flags = ["--bundle", "--minify", "--format=esm", "--log-level=warning"];
  const minified = execFileSync(join(root, "tests/wasm/node_modules/.bin/esbuild"), [join(packed, "client.js"), ...flags]);
  const files = ["arguments", "client", "endpoints", "environment", "errors", "hidden", "iterators", "names", "request", "response", "retry", "within"];
  const whole = files.map((name) => gzipSync(readFileSync(join(packed, `${name}.js`)), { level: 9 }).length);
  const kilobytes = (size) => Math.round(size / 1000);
  const [least, most] = [gzipSync(minified, { level: 9 }).length, whole.reduce((sum, size) => sum + size)].map(kilobytes);

  const sentence = `\`secrets-service/client\` alone is ${least} kB if a bundler minifies it, and ${most} kB as it is.`;
  assert.ok(sentences.includes(sentence), sentence);
});

// Compilers of other versions build modules of other sizes.
const SIZE_TOLERANCE = 0.03;

test("the README names the sizes of the modules, within 3 percent", async () => {
  const [, ...named] = sentences.match(/`secrets-service\/bundle` is ([\d,]+) kB and the whole package ([\d,]+) kB \(with Brotli, ([\d,]+) kB and ([\d,]+) kB\)/);
  const modules = ["bundle", "full"].map((name) => readFileSync(join(packed, name, "secrets_bg.wasm")));
  const compressions = [(module) => promisify(gzip)(module, { level: 9 }), promisify(brotliCompress)];
  const compressed = await Promise.all(compressions.flatMap((compress) => modules.map((module) => compress(module))));

  const sizes = compressed.map(({ length }) => length / 1000);
  for (const [index, text] of named.entries()) {
    const [size, claimed] = [sizes[index], Number(text.replace(",", ""))];
    assert.ok(Math.abs(claimed - size) <= size * SIZE_TOLERANCE, `${text} kB: the sizes are ${sizes.map(Math.round)} kB`);
  }
});

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

test("a call in a worker can be cancelled", async () => {
  const reason = new SecretsError("conflict", "no longer needed");
  const controller = new AbortController();
  const opening = openBundleInWorker(file, options, { signal: controller.signal });
  controller.abort(reason);

  await assert.rejects(opening, (error) => error === reason);
  await assert.rejects(openBundleInWorker(file, options, { signal: AbortSignal.abort(reason) }), reason);
});

const web = await import(pathToFileURL(join(packed, "worker.js")));

// Opens a bundle with another class of web workers, and returns its error.
async function failureWith(Worker, given = options, call = {}) {
  globalThis.Worker = Worker;
  try {
    return await web.openBundleInWorker(file, given, call).then(() => assert.fail("it succeeded"), (error) => error);
  } finally {
    delete globalThis.Worker;
  }
}

// Web worker that never responds.
class SilentWorker {
  postMessage() {}
  terminate() {}
}

test("a worker that does not answer has a timeout, from 1 ms", async () => {
  const { kind, code, message } = await failureWith(SilentWorker, options, { timeout: 1 });

  assert.deepEqual([kind, code, message], ["internal", "timeout", "the worker did not answer within 1 ms"]);
  for (const timeout of [0, 0.5, -1, NaN, Infinity, "5", 2 ** 31]) {
    const { kind, message } = await failureWith(SilentWorker, options, { timeout });
    assert.deepEqual([kind, message], ["invalid", "timeout must be a number from 1 to 2147483647"]);
  }
});

test("a worker that cannot be started is an error without its text", async () => {
  class RefusedWorker {
    constructor() {
      throw new DOMException("kvc_", "SecurityError");
    }
  }

  const error = await failureWith(RefusedWorker);

  assert.ok(error instanceof SecretsError);
  const { kind, code, message } = error;
  assert.deepEqual([kind, code, message], ["internal", "worker_failed", "the worker cannot be started (SecurityError)"]);
});

test("an option that cannot be sent to a worker is not quoted", async () => {
  const given = { key: () => "kvc_secret" };
  const error = await openBundleInWorker(file, given).then(() => assert.fail("it succeeded"), (error) => error);

  assert.ok(error instanceof SecretsError);
  assert.deepEqual([error.kind, error.message], ["invalid", "options of openBundle cannot be sent to a worker (DataCloneError)"]);
  assert.doesNotMatch(inspect(error), /kvc_/);
});

test("a web worker whose module cannot be loaded says so", () => {
  // Node.js cannot fetch a `file:` URL.
  const output = run(`
    globalThis.onmessage = undefined;
    const answered = new Promise((resolve) => (globalThis.postMessage = resolve));
    await import(${JSON.stringify(pathToFileURL(join(packed, "bundle.worker.js")))});
    onmessage({ data: { file: new Uint8Array(), options: { key: "" } } });
    console.log(JSON.stringify(await answered));
  `);

  assert.deepEqual(JSON.parse(output), {
    error: { kind: "internal", code: "worker_failed", message: "the worker cannot load its WebAssembly module" },
  });
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
