// The installed package in Chromium, served with strict headers.

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { after, before, test } from "node:test";

import { Browser } from "../../tests/browser/driver.mjs";
import { serve } from "../../tests/browser/server.mjs";
import { cases, packed, profile, root, vectorFiles, vectors, vectorsOf } from "./places.mjs";
import { check } from "../../tests/vectors/check.mjs";

let browser, server;

before(async () => {
  rmSync(profile("module"), { recursive: true, force: true });
  server = await serve({
    folders: { package: packed, vectors, tests: `${root}/tests` },
    files: { "/": "<!doctype html><title>module</title>", "/cases.json": JSON.stringify(cases()), "/api/v1/projects": '{"projects":[]}' },
  });
  browser = await Browser.open({ folder: profile("module") });
  await browser.goTo(`${server.url}/`);
});

after(async () => {
  await browser?.close();
  await server?.close();
});

test("every vector gives the expected result, as in Node.js", async () => {
  const { counts, failures } = await browser.run(async (names) => {
    const [module, { check }] = await Promise.all([import("/package/index.js"), import("/tests/vectors/check.mjs")]);
    return check(module, names, async (name) => (await fetch(`/vectors/${name}`)).json());
  }, vectorFiles);

  assert.deepEqual(failures, []);
  const node = await check(await import(`${packed}/index.node.js`), vectorFiles, vectorsOf);
  assert.deepEqual(counts, node.counts);
  console.log("# vectors in Chromium:", JSON.stringify(counts));
});

test("the service passes the behavioural cases", async () => {
  const { cases: count, failures } = await browser.run(async () => {
    const [module, { run }] = await Promise.all([import("/package/index.js"), import("/tests/cases/run.mjs")]);
    return run(await module.Service.memory(), await (await fetch("/cases.json")).json());
  });

  assert.deepEqual(failures, []);
  assert.ok(count >= 300, `only ${count} cases`);
  console.log("# cases in Chromium:", count);
});

test("the small module for bundles loads on its own", async () => {
  await browser.requests();
  const names = await browser.run(async () => {
    location.hash = "small";
    return Object.keys(await import("/package/bundle.js")).sort();
  });

  assert.deepEqual(names, ["SecretsError", "isPlausibleToken", "openBundle", "openRecord", "toRecord"]);
  const asked = await browser.requests();
  assert.ok(asked.some((url) => url.endsWith("/bundle/secrets_bg.wasm")), asked.join());
});

test("the HTTP client uses the page's own fetch, and loads no module", async () => {
  await browser.requests();
  const outcomes = await browser.run(async () => {
    location.hash = "client";
    const { Client } = await import("/package/client.js");
    const client = new Client(location.origin, { token: "env_x" });
    const aborted = client.project.list({}, { signal: AbortSignal.abort() }).catch(({ name }) => name);
    return [await client.project.list(), await aborted];
  });

  assert.deepEqual(outcomes, [[], "AbortError"]);
  const asked = await browser.requests();
  assert.ok(asked.some((url) => url.endsWith("/api/v1/projects")), asked.join());
  assert.ok(!asked.some((url) => url.endsWith(".wasm")), asked.join());
});

test("a page passes the variables of a client as an object", async () => {
  const outcomes = await browser.run(async () => {
    const { Client, SecretsError } = await import("/package/client.js");
    const url = { SECRETS_URL: location.origin };
    const errors = [undefined, { ...url, SECRETS_TOKEN_FILE: "/token" }].map((env) => {
      try {
        return Client.fromEnv(env);
      } catch (error) {
        return `${error instanceof SecretsError} ${error.kind}: ${error.message}`;
      }
    });
    return [await Client.fromEnv({ ...url, SECRETS_TOKEN: "env_x" }).project.list(), ...errors];
  });

  assert.deepEqual(outcomes, [
    [],
    "true invalid: env is required: this platform has no process.env",
    "true invalid: SECRETS_TOKEN_FILE cannot be read on this platform: set SECRETS_TOKEN",
  ]);
});

const golden = vectorsOf("bundle.json").vectors.find(({ name }) => name === "golden bundle");
const options = { key: golden.unlock.text, now: golden.now };

test("a bundle opens in a worker, and its errors have a kind", async () => {
  const outcomes = await browser.run(async (text, options) => {
    // The strict headers of this page refuse workers without such a policy.
    const allowed = `${location.origin}/package/bundle.worker.js`;
    trustedTypes.createPolicy("default", { createScriptURL: (url) => (url === allowed ? url : null) });
    const { openBundleInWorker, SecretsError } = await import("/package/worker.js");
    const file = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const error = await openBundleInWorker(file.subarray(1), options).catch((error) => error);
    const { secrets } = await openBundleInWorker(file, options);
    const aborted = openBundleInWorker(file, options, { signal: AbortSignal.abort() }).catch(({ name }) => name);
    return [secrets.length, error instanceof SecretsError, error.kind, await aborted];
  }, golden.bundle, options);

  assert.deepEqual(outcomes, [golden.secrets.length, true, "malformed", "AbortError"]);
});

test("init loads the module from a response of the page", async () => {
  const count = await browser.run(async (text, options) => {
    const { init, openBundle } = await import("/package/bundle.init.js");
    await init(fetch("/package/bundle/secrets_bg.wasm"));
    const file = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return openBundle(file.buffer, options).secrets.length;
  }, golden.bundle, options);

  assert.equal(count, golden.secrets.length);
});

test("the console has no errors, and requests went to this server only", async () => {
  assert.deepEqual(await browser.complaints(), []);
  const asked = await browser.requests();
  assert.deepEqual(asked.filter((url) => !url.startsWith(server.url)), []);
});
