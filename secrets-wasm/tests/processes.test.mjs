// HTTP client of the installed package with real servers, and with a proxy, a load balancer and slow servers
// between them. Each is a process.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";

import { data, packed, root, target } from "./places.mjs";
import { createAuthority, runProgram, startIntermediary, until } from "./processes.mjs";
import { blockWith } from "./readme.mjs";
import { createSecret, SHOP_URL, startServer, tokenOf } from "./server.mjs";

const { Client, SecretsError } = await import(pathToFileURL(join(packed, "client.js")));
const undici = await import(pathToFileURL(join(root, "tests/wasm/node_modules/undici/index.js")));

const folder = join(target, "test/processes");
const authority = createAuthority(join(folder, "authority"));
const otherAuthority = createAuthority(join(folder, "other-authority"));

const FIRST = "kvc_first";
const SECOND = "kvc_second";

let server, token, secure, secureToken;

before(async () => {
  const certificate = { SECRETS_TLS_CERT: join(authority, "certificate.pem"), SECRETS_TLS_KEY: join(authority, "key.pem") };
  [server, secure] = await Promise.all([startServer("javascript-plain"), startServer("javascript-tls", certificate)]);
  token = await createSecret(server.url, FIRST);
  const dispatcher = new undici.Agent({ connect: { ca: readFileSync(join(authority, "ca.pem")) } });
  const fetch = (url, options) => undici.fetch(url, { ...options, dispatcher });
  secureToken = await createSecret(secure.url, FIRST, { fetch });
  await dispatcher.close();
});

after(() => Promise.all([server?.close(), secure?.close()]));

// Starts an intermediary for the duration of a test.
async function intermediaryOf(test, kind, settings) {
  const intermediary = await startIntermediary(kind, { service: server.url, ...settings });
  test.after(() => intermediary.close());
  return intermediary;
}

const read = (client) => client.secret.get(SHOP_URL).then(({ value }) => value);

async function failureOf(promise) {
  const error = await promise.then(() => assert.fail("it succeeded"), (error) => error);
  assert.ok(error instanceof SecretsError, inspect(error));
  return error;
}

test("a reading request is repeated after the pages of a load balancer without a server", async (test) => {
  const { url, events } = await intermediaryOf(test, "balancer", { failures: [[502, 1], [503, 0]] });
  const start = performance.now();

  assert.equal(await read(new Client(url, { token })), FIRST);
  assert.ok(performance.now() - start >= 1000);
  assert.deepEqual(events, ["GET 502", "GET 503", "GET forwarded"]);
});

test("a writing request is repeated after the status 503 of a load balancer, and not after 502", async (test) => {
  const { url, events } = await intermediaryOf(test, "balancer", { failures: [[503, 0], [502, 0]] });
  const owner = new Client(url, { token: tokenOf("owner") });
  const created = { project: "shop", environment: "production", key: "CREATED", value: "kvc_created" };

  const error = await failureOf(owner.secret.create(created));
  const { version } = await owner.secret.create(created);

  assert.deepEqual({ ...error }, { kind: "unavailable", status: 502, retryAfter: 0 });
  assert.equal(version, 1);
  assert.deepEqual(events, ["POST 503", "POST 502", "POST forwarded"]);
});

const slow = [
  ["sends its response in small pieces", "dripping", { size: 10, interval: 500 }],
  ["accepts requests and sends nothing", "silent", {}],
];
for (const [name, kind, settings] of slow) {
  test(`a server that ${name} is not waited for longer than the timeout, and its connection is closed`, async (test) => {
    const { url, events } = await intermediaryOf(test, kind, settings);

    for (const limits of [{ timeout: 2000 }, { totalTimeout: 2000 }]) {
      const start = performance.now();
      const error = await failureOf(read(new Client(url, { token, ...limits })));

      assert.deepEqual([error.kind, error.code], ["unavailable", "timeout"]);
      assert.match(error.message, /^no response from http:\/\/127\.0\.0\.1:\d+ within \d+ ms$/);
      assert.ok(performance.now() - start < 20_000);
    }
    await until(() => events.length === 2);
    assert.deepEqual(events, ["closed", "closed"]);
  });
}

test("a response in small pieces is whole if it ends before the timeout", async (test) => {
  const { url, events } = await intermediaryOf(test, "dripping", { size: 20, interval: 5 });

  assert.equal(await read(new Client(url, { token })), FIRST);
  await until(() => events.length === 1);
  assert.deepEqual(events, ["finished"]);
});

test("a client reads the acknowledged value after its server was killed and restarted", async (test) => {
  const database = join(data, "javascript-restart");
  rmSync(database, { recursive: true, force: true });
  mkdirSync(database, { recursive: true });
  const settings = { SECRETS_DATABASE_URL: `sqlite://${join(database, "secrets.db")}` };
  const first = await startServer("javascript-restart-1", settings);
  test.after(() => first.kill());
  const client = new Client(first.url, { token: await createSecret(first.url, FIRST) });
  const owner = new Client(first.url, { token: tokenOf("owner") });
  assert.equal(await read(client), FIRST);
  await owner.secret.update({ ...SHOP_URL, value: SECOND });

  const outcomes = [];
  let isOver = false;
  const reading = (async () => {
    while (!isOver) outcomes.push(await read(client).catch((error) => error));
  })();
  await until(() => outcomes.length >= 10);
  await first.kill();
  await until(() => outcomes.at(-1) instanceof SecretsError);
  const second = await startServer("javascript-restart-2", { ...settings, SECRETS_LISTEN: new URL(first.url).host });
  test.after(() => second.close());
  await until(() => outcomes.at(-1) === SECOND);
  isOver = true;
  await reading;

  const failures = outcomes.filter((outcome) => outcome !== SECOND);
  for (const failure of failures) {
    assert.ok(failure instanceof SecretsError, inspect(failure));
    assert.deepEqual([failure.kind, failure.code], ["unavailable", "no_response"]);
  }
  assert.equal((await owner.secret.update({ ...SHOP_URL, value: FIRST })).version, 3);
  assert.equal(await read(client), FIRST);
});

test("the fetch of Node.js trusts another authority only with NODE_EXTRA_CA_CERTS", () => {
  const code = blockWith("client.secret.export");
  const env = { SECRETS_URL: secure.url, SECRETS_TOKEN: secureToken };

  const trusting = runProgram("authority.mjs", code, { env: { ...env, NODE_EXTRA_CA_CERTS: join(authority, "ca.pem") } });
  const refusing = runProgram("authority.mjs", code, { env });

  assert.deepEqual(trusting, { status: 0, stdout: "URL\n", stderr: "" });
  assert.deepEqual([refusing.status, refusing.stdout], [1, ""]);
  assert.ok(refusing.stderr.includes(`SecretsError: no response from ${secure.url} (UNABLE_TO_VERIFY_LEAF_SIGNATURE)`), refusing.stderr);
  assert.ok(!refusing.stderr.includes(secureToken));
});

// Runs the README block for a proxy and an authority in a folder with the certificate of an authority.
function runWithProxy(cwd, proxy) {
  const env = { SECRETS_URL: secure.url, SECRETS_TOKEN: secureToken, HTTPS_PROXY: proxy };
  return runProgram("proxy.mjs", blockWith("ProxyAgent"), { cwd, env });
}

test("the README block for a proxy and another authority reads through the proxy", async (test) => {
  const { url, events } = await intermediaryOf(test, "proxy");

  assert.deepEqual(runWithProxy(authority, url), { status: 0, stdout: "shop\n", stderr: "" });
  await until(() => events.length > 0);
  assert.deepEqual(events, [`CONNECT ${new URL(secure.url).host}`]);
});

test("a proxy that is not there and a certificate of another authority are named", async (test) => {
  const { url } = await intermediaryOf(test, "proxy");
  const failures = [
    [authority, "http://127.0.0.1:1", "ECONNREFUSED"],
    [otherAuthority, url, "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
  ];
  for (const [folder, proxy, reason] of failures) {
    const { status, stdout, stderr } = runWithProxy(folder, proxy);

    assert.deepEqual([status, stdout], [1, ""]);
    assert.ok(stderr.includes(`SecretsError: no response from ${secure.url} (${reason})`), stderr);
    assert.ok(!stderr.includes(secureToken));
  }
});
