// HTTP client of the installed package in Node.js, with prepared responses and with a server process.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";

import { withClock } from "./clock.mjs";
import { packed } from "./places.mjs";
import { startServer, tokenOf } from "./server.mjs";

const { Client, SecretsError } = await import(pathToFileURL(join(packed, "client.js")));
const { openBundle, toRecord } = await import(pathToFileURL(join(packed, "bundle.node.js")));

// Server that sends prepared responses in turn, and keeps the requests. A response is `[status, headers,
// body]`, or a function of the request and the response.
let host;

beforeEach(async () => {
  const [responses, requests] = [[], []];
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray();
    const { method, url, headers } = request;
    requests.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
    const next = responses.shift() ?? [500, {}, "no response was prepared"];
    if (typeof next === "function") return next(request, response);
    const [status, sent, body] = next;
    response.writeHead(status, sent).end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () =>
    new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  host = { url: `http://127.0.0.1:${server.address().port}`, responses, requests, close };
});

afterEach(() => host.close());

const JSON_TYPE = { "content-type": "application/json" };
const json = (status, content, headers = {}) => [status, { ...JSON_TYPE, ...headers }, JSON.stringify(content)];
const PROJECTS = json(200, { projects: [] });
const OVERLOADED = { error: "rate limit exceeded", code: "rate_limited" };
const NOT_NOW = { error: "not now", code: "unavailable" };

async function failureOf(promise) {
  const error = await promise.then(() => assert.fail("it succeeded"), (error) => error);
  assert.ok(error instanceof SecretsError, inspect(error));
  return error;
}

test("a request has the path, query, body and token of its operation", async () => {
  host.responses.push(json(200, { secret: {} }), [204], json(200, { history: [] }), json(200, { entries: [] }));
  const client = new Client(`${host.url}/base/`, { token: "kvc_token" });

  await client.secret.update({ project: "a b", environment: "é", key: "K", value: "kvc_é", description: undefined });
  assert.equal(await client.secret.delete({ project: "p", environment: "e", key: "K", expected_version: 2 }), null);
  await client.secret.history({ project: "p", environment: "e", key: "K", values: true, limit: undefined });
  await client.audit.list({ action: "secret.created", key: "a&b=c" });

  const [update, remove, history, audit] = host.requests;
  assert.equal(update.url, "/base/api/v1/projects/a%20b/environments/%C3%A9/secrets/K");
  assert.deepEqual([update.method, JSON.parse(update.body)], ["PUT", { value: "kvc_é" }]);
  assert.deepEqual([update.headers.authorization, update.headers["content-type"]], ["Bearer kvc_token", "application/json"]);
  assert.equal(remove.url, "/base/api/v1/projects/p/environments/e/secrets/K?expected_version=2");
  assert.deepEqual([remove.method, remove.body, remove.headers["content-type"]], ["DELETE", "", undefined]);
  assert.match(history.url, /\?values=true$/);
  assert.match(audit.url, /\?action=secret\.created&key=a%26b%3Dc$/);
});

test("a time in the query can be a date", async () => {
  host.responses.push(json(200, { logs: [], limit: 100 }));
  const { audit } = new Client(host.url);

  await audit.list({ from: new Date(Date.UTC(2026, 0, 2)), to: "2026-01-03T00:00:00Z" });

  assert.match(host.requests[0].url, /\?from=2026-01-02T00%3A00%3A00.000Z&to=2026-01-03T00%3A00%3A00Z$/);
  assert.equal((await failureOf(audit.list({ from: new Date(NaN) }))).message, "from must be a valid date");
  assert.equal(host.requests.length, 1);
});

test("the token can be a function, which is called for each request", async () => {
  host.responses.push(PROJECTS, PROJECTS);
  let number = 0;
  const client = new Client(host.url, { token: async () => `token-${(number += 1)}` });

  await client.project.list();
  await client.project.list();

  assert.deepEqual(host.requests.map(({ headers }) => headers.authorization), ["Bearer token-1", "Bearer token-2"]);
});

test("an error of the token function is passed on, without a request", async () => {
  const error = new Error("signed out");
  const token = async () => {
    throw error;
  };

  await assert.rejects(new Client(host.url, { token }).project.list(), (thrown) => thrown === error);
  assert.deepEqual(host.requests, []);
});

test("an error of the token function is not retried or converted, even if it is one of the package", async () => {
  const error = new SecretsError("rate_limited", "too many sign-ins", { retryAfter: 0 });
  let calls = 0;
  const token = async () => {
    calls += 1;
    throw error;
  };

  await assert.rejects(new Client(host.url, { token }).project.list(), (thrown) => thrown === error);
  assert.deepEqual([calls, host.requests.length], [1, 0]);
});

for (const [name, end] of [["timeout", undefined], ["signal", new Error("no longer needed")]]) {
  test(`a token that comes after the ${name} is not sent`, async () => {
    const controller = new AbortController();
    const sent = [];
    let give;
    const token = () =>
      new Promise((resolve) => {
        give = resolve;
        if (end) setImmediate(() => controller.abort(end));
      });
    const client = new Client(host.url, { token, fetch: async (url) => sent.push(url), timeout: end ? 60_000 : 1 });

    const error = await client.project.list({}, { signal: controller.signal }).catch((error) => error);
    give("kvc_token");
    // Waits until all code that waits for the token has run.
    await new Promise(setImmediate);

    assert.ok(end ? error === end : error.code === "timeout", inspect(error));
    assert.deepEqual(sent, []);
  });
}

test("an input that no request can carry is refused without a request", async () => {
  const client = new Client(host.url);
  const { secret, project } = client;
  const at = { project: "p", environment: "e" };

  const missing = await failureOf(secret.get(at));
  assert.deepEqual([missing.kind, missing.message, missing.fields], ["invalid", "key is required", [{ field: "key", message: "is required" }]]);
  assert.equal((await failureOf(secret.get({ ...at, key: 7 }))).message, "key must be a string");
  assert.equal((await failureOf(secret.get({ ...at, key: "K", vlaue: 1 }))).message, "vlaue is not a field of secret.get");
  assert.equal((await failureOf(secret.history({ ...at, key: "K", limit: {} }))).message, "limit must be a string, a number, a boolean or a date");
  assert.equal((await failureOf(project.create({ name: 1n }))).message, "input cannot be converted to JSON");
  assert.equal((await failureOf(project.create([]))).message, "input must be an object");
  assert.equal((await failureOf(project.create({ name: "x" }, { timeout: 1 }))).message, "timeout is not an option of call");
  for (const name of ["secret.conjure", "__proto__", "toString"]) assert.equal((await failureOf(client.call(name))).kind, "not_found");
  for (const key of ["", ".", "..", "a/b", "a\\b", "a\nb", "\ud800"]) {
    assert.equal((await failureOf(secret.get({ ...at, key }))).kind, "not_found", JSON.stringify(key));
  }
  assert.deepEqual(host.requests, []);
});

// Calls an operation with prepared responses and without waiting. A response is `[status,
// headers]`, or an error; the last response is repeated. Returns the outcome, the number of
// requests and the times that were waited.
async function replay(responses, { operation = (client) => client.project.list(), random, ...options } = {}) {
  let requests = 0;
  const fetch = async () => {
    requests += 1;
    const response = responses[Math.min(requests, responses.length) - 1];
    if (response instanceof Error) throw response;
    const [status, headers = {}, content = OVERLOADED] = response;
    const bytes = new TextEncoder().encode(JSON.stringify(content));
    const all = new Headers({ ...JSON_TYPE, ...headers });
    return { status, headers: all, arrayBuffer: async () => bytes.buffer };
  };
  const client = new Client("http://service.test", { fetch, ...options });
  const { result, ended } = await withClock(() => operation(client).catch((error) => error), { random });
  return { outcome: result, requests, waits: ended };
}

const create = (client) => client.project.create({ name: "x" });

test("an overloaded service is asked again after the time that it names, plus a random part", async () => {
  const past = { "retry-after": "Mon, 01 Jan 2024 00:00:00 GMT", "content-type": "text/html" };
  const responses = [[429, { "retry-after": "5" }], [503, past], [201, {}, { id: "1" }]];

  const exact = await replay(responses, { operation: create });
  assert.deepEqual([exact.outcome, exact.requests, exact.waits], [{ id: "1" }, 3, [5000, 200]]);
  assert.deepEqual((await replay(responses, { operation: create, random: 0.5 })).waits, [5025, 250]);
});

test("each further retry waits longer, and a call sends at most 10 requests", async () => {
  const { outcome, requests, waits } = await replay([[429, { "retry-after": "0" }]]);

  assert.deepEqual([outcome.kind, outcome.code, outcome.status, outcome.retryAfter], ["rate_limited", "rate_limited", 429, 0]);
  assert.equal(requests, 10);
  assert.deepEqual(waits, [100, 200, 400, 800, 1600, 3200, 6400, 8000, 8000]);
});

test("a wait longer than the total timeout is not begun, and its random part is dropped", async () => {
  const long = await replay([[429, { "retry-after": "60" }]], { totalTimeout: 30_000 });
  assert.deepEqual([long.outcome.kind, long.outcome.retryAfter, long.requests], ["rate_limited", 60, 1]);

  const late = await replay([[429, { "retry-after": "0" }]], { totalTimeout: 1000, random: 0.9 });
  assert.deepEqual(late.waits, [145, 290, 400]);
});

test("a gateway that may have passed a request on is asked again only for a reading request", async () => {
  for (const status of [502, 504]) {
    const responses = [[status, { "retry-after": "1" }, "<html>"], [200, {}, { projects: [] }]];
    assert.deepEqual((await replay(responses)).waits, [1000]);
    const written = await replay(responses, { operation: create });
    assert.deepEqual([written.outcome.kind, written.outcome.status, written.requests], ["unavailable", status, 1]);
  }
});

test("a failure that names no time, and a limit of the plan, are not retried", async () => {
  const limit = { error: "the plan allows 3 projects", code: "plan_limit_exceeded", resource: "projects", plan: "free", limit: 3, current: 3 };
  host.responses.push(json(503, NOT_NOW), json(429, limit, { "retry-after": "0" }));
  const client = new Client(host.url);

  assert.equal((await failureOf(client.project.create({ name: "x" }))).kind, "unavailable");
  const error = await failureOf(client.project.create({ name: "x" }));

  const { error: message, ...details } = limit;
  assert.equal(error.message, message);
  assert.deepEqual({ ...error }, { kind: "plan_limit", ...details, status: 429, retryAfter: 0 });
  assert.equal(host.requests.length, 2);
});

test("the timeout also holds for a fetch or a token that never comes", async () => {
  const never = () => new Promise(() => {});

  for (const given of [{ fetch: never }, { token: never }]) {
    assert.equal((await failureOf(new Client(host.url, { ...given, timeout: 20 }).project.list())).code, "timeout");
  }
});

const silent = () => {};

test("a signal cancels a request and the wait before a retry", async () => {
  for (const respond of [silent, json(429, OVERLOADED, { "retry-after": "60" })]) {
    const controller = new AbortController();
    const reason = new Error("no longer needed");
    host.responses.push((request, response) => {
      if (typeof respond !== "function") response.writeHead(respond[0], respond[1]).end(respond[2]);
      // Aborts after the response, while the client waits before its retry.
      setImmediate(() => controller.abort(reason));
    });
    await assert.rejects(new Client(host.url).project.list({}, { signal: controller.signal }), reason);
  }
  assert.equal(host.requests.length, 2);
  await assert.rejects(new Client(host.url).project.list({}, { signal: AbortSignal.abort() }), { name: "AbortError" });
  assert.equal(host.requests.length, 2);
});

test("a reading request whose connection breaks is sent once more, a writing request is not", async () => {
  const broken = new TypeError("fetch failed");

  assert.deepEqual(await replay([broken, [200, {}, { projects: [] }]]), { outcome: [], requests: 2, waits: [100] });
  const read = await replay([broken]);
  assert.deepEqual([read.outcome.code, read.requests], ["no_response", 2]);
  const written = await replay([broken], { operation: create });
  assert.deepEqual([written.outcome.code, written.requests], ["no_response", 1]);
});

test("a connection that the service has closed is opened again", async () => {
  const broken = (request) => request.socket.destroy();
  host.responses.push(broken, PROJECTS);

  assert.deepEqual(await new Client(host.url).project.list(), []);
});

const withCode = (code) => Object.assign(new Error("kvc_token"), { code });
const reasons = [
  ["the code of the cause", new TypeError("kvc_token", { cause: withCode("ECONNREFUSED") }), " (ECONNREFUSED)"],
  ["the code", withCode("ECONNRESET"), " (ECONNRESET)"],
  ["the name", new TypeError("kvc_token"), " (TypeError)"],
  ["the name of a DOMException", new DOMException("kvc_token", "NetworkError"), " (NetworkError)"],
  ["nothing that can be a value", Object.assign(new Error("kvc_token"), { name: "kvc_token", code: "kvc_token" }), ""],
  ["nothing if it is no error", "kvc_token", ""],
];
for (const [name, thrown, reason] of reasons) {
  test(`an address without a service is named with the reason: ${name}`, async () => {
    const fetch = async () => {
      throw thrown;
    };

    const error = await failureOf(new Client("http://secrets.test", { token: "kvc_token", fetch }).project.create({ name: "x" }));

    assert.deepEqual([error.kind, error.message], ["unavailable", `no response from http://secrets.test${reason}`]);
    assert.doesNotMatch(inspect(error), /kvc_/);
  });
}

test("a request has the options of fetch that the platform has", async () => {
  const given = [];
  const fetch = async (_, init) => {
    given.push(init);
    return Response.json({ projects: [] });
  };
  const client = new Client(host.url, { fetch });
  const names = ["cache", "credentials"];
  const own = names.map((name) => [name, Object.getOwnPropertyDescriptor(Request.prototype, name)]);

  await client.project.list();
  try {
    for (const name of names) delete Request.prototype[name];
    await client.project.list();
  } finally {
    for (const [name, descriptor] of own) Object.defineProperty(Request.prototype, name, descriptor);
  }

  const [whole, reduced] = given;
  assert.deepEqual([whole.cache, whole.credentials, whole.redirect], ["no-store", "omit", "manual"]);
  assert.deepEqual(Object.keys(reduced).sort(), ["headers", "method", "redirect", "signal"]);
});

test("a redirect is not followed, and names the address", async () => {
  for (const status of [301, 302, 307, 308]) {
    host.responses.push([status, { location: "https://secrets.example.com/api?kvc_" }]);
    const error = await failureOf(new Client(host.url, { token: "kvc_token" }).project.delete({ project: "shop" }));

    assert.equal(error.kind, "internal");
    assert.equal(error.message, "the server redirects to https://secrets.example.com: use the address of the service");
  }
  assert.equal(host.requests.length, 4);
});

test("a response of another server is no success, and is not repeated", async () => {
  const bodies = ["", "<html>kvc_", "[]", '{"other": "kvc_"}', "null", '{"error": "kvc_"}', '{"projects": "kvc_"}', '{"projects": {}}'];
  for (const status of [200, 201, 204, 400, 401, 403, 404, 409, 418, 500]) {
    for (const body of bodies) {
      if (status === 204 && body !== "") continue;
      host.responses.push([status, { "content-type": "text/html", "x-request-id": "r-1" }, body]);
      const error = await failureOf(new Client(host.url).project.list());

      assert.deepEqual([error.kind, error.code, error.status, error.requestId], ["internal", "foreign_response", status, "r-1"]);
      assert.match(error.message, /is this the address of the service/);
      assert.doesNotMatch(inspect(error), /kvc_/);
    }
  }
  const states = [
    [502, "unavailable", "the service is unavailable (status 502)"],
    [429, "rate_limited", "too many requests (status 429)"],
  ];
  for (const [status, ...expected] of states) {
    host.responses.push([status, { "content-type": "text/html" }, "<html>kvc_"]);
    const { kind, message } = await failureOf(new Client(host.url).project.list());
    assert.deepEqual([kind, message], expected);
  }
});

const at = { project: "p", environment: "e" };
const TEXT = { "content-type": "text/plain; charset=utf-8" };
const HTML = { "content-type": "text/html" };
const forms = [
  ["an empty response without an output", "secret.delete", { ...at, key: "K" }, [204], null],
  ["an empty response without an output, with the status 200", "invitation.resend", { team: "t", invitation: "i" }, [200], null],
  ["a page without an output", "secret.delete", { ...at, key: "K" }, [200, HTML, "<html>"], undefined],
  ["an object", "project.get", { project: "p" }, json(200, { id: "1" }), { id: "1" }],
  ["an empty response for an object", "project.get", { project: "p" }, [200], undefined],
  ["the status 204 for an object", "project.get", { project: "p" }, [204], undefined],
  ["an array for an object", "project.get", { project: "p" }, json(200, []), undefined],
  ["an object for an array", "rotation.history", { ...at, rotation: "r" }, json(200, {}), undefined],
  ["an array", "rotation.history", { ...at, rotation: "r" }, json(200, []), []],
  ["an array for an object in an envelope", "secret.get", { ...at, key: "K" }, json(200, { secret: [] }), undefined],
  ["a text", "secret.export", { ...at, format: "dotenv" }, [200, TEXT, "A=1"], { text: "A=1" }],
  ["an empty text", "secret.export", { ...at, format: "dotenv" }, [200, TEXT], { text: "" }],
  ["a text in YAML", "secret.export", { ...at, format: "yaml" }, [200, { "content-type": "application/yaml" }, "A: 1"], { text: "A: 1" }],
  ["a page for a text", "secret.export", { ...at, format: "dotenv" }, [200, HTML, "<html>"], undefined],
  ["an empty response for a text", "secret.export", { ...at, format: "dotenv" }, [200], undefined],
  ["a file", "account.export_secrets", {}, [200, { "content-type": "application/octet-stream" }, "A"], "QQ=="],
  ["a page for a file", "account.export_secrets", {}, [200, HTML, "<html>"], undefined],
  ["a file for an object", "project.get", { project: "p" }, [200, { "content-type": "application/octet-stream" }, "A"], undefined],
];
for (const [name, operation, input, response, output] of forms) {
  test(`only the declared form of an output is accepted: ${name}`, async () => {
    host.responses.push(response);
    const called = new Client(host.url).call(operation, input);

    if (output !== undefined) assert.deepEqual(await called, output);
    else assert.equal((await failureOf(called)).code, "foreign_response");
  });
}

test("content nested too deeply is refused", async () => {
  host.responses.push([200, JSON_TYPE, `{"projects": ${"[".repeat(20_000)}${"]".repeat(20_000)}}`]);

  assert.equal((await failureOf(new Client(host.url).project.list())).code, "foreign_response");
});

test("details of another type and control characters are left out of an error", async () => {
  const fields = [{ field: "name", message: "is\u0000 bad", index: "1", key: 7, other: "kvc_" }, "kvc_", null];
  host.responses.push(json(400, {
    error: "a\u001b[31m\u202eb\r\nc", code: "invalid_request", details: { fields }, resource: {}, plan: 7, limit: "9", current: 3, kind: "kvc_", stack: "kvc_",
  }));

  const error = await failureOf(new Client(host.url).project.list());

  assert.deepEqual(error.toJSON(), {
    kind: "invalid", message: "a [31m b c", code: "invalid_request", fields: [{ field: "name", message: "is  bad" }], current: 3, status: 400,
  });
});

test("only an OAuth error is an output of device_login.poll", async () => {
  const pending = { error: "authorization_pending", error_description: 'not yet: "code" is missing' };
  const refused = { error: "field is missing", code: "invalid_request" };
  host.responses.push(json(400, pending), json(400, refused), [400, HTML, "<html>"]);
  const { deviceLogin } = new Client(host.url);

  assert.deepEqual(await deviceLogin.poll({}), pending);
  assert.equal((await failureOf(deviceLogin.poll({}))).code, "invalid_request");
  assert.equal((await failureOf(deviceLogin.poll({}))).code, "foreign_response");
});

test("the message of an error has a maximum length", async () => {
  host.responses.push(json(400, { error: "x".repeat(5000), code: "invalid_request", details: { fields: "none" } }));

  const error = await failureOf(new Client(host.url).project.list());

  assert.deepEqual([error.kind, error.message.length, error.fields], ["invalid", 1000, undefined]);
});

test("a response has a maximum size", async () => {
  const large = json(200, { projects: ["x".repeat(2000)] });
  host.responses.push(large, large);
  const withoutStream = async (...given) => {
    const response = await fetch(...given);
    const { status, headers } = response;
    return { status, headers, arrayBuffer: () => response.arrayBuffer() };
  };

  for (const given of [{}, { fetch: withoutStream }]) {
    const error = await failureOf(new Client(host.url, { ...given, maxResponseSize: 1000 }).project.list());
    assert.deepEqual([error.kind, error.code, error.status], ["internal", "response_too_large", 200]);
  }
});

test("a response that declares too large a size is not read", async () => {
  const read = [];
  const fetch = async () => ({
    status: 200,
    headers: new Headers({ "content-length": "1001" }),
    arrayBuffer: async () => read.push("arrayBuffer"),
  });

  assert.equal((await failureOf(new Client(host.url, { fetch, maxResponseSize: 1000 }).project.list())).code, "response_too_large");
  assert.deepEqual(read, []);
});

test("an error response has a maximum size of 1 MiB", async () => {
  const whole = { error: "x", code: "invalid_request" };
  host.responses.push(json(400, { ...whole, more: "x".repeat(2 ** 20) }), json(400, whole));
  const client = new Client(host.url);

  assert.equal((await failureOf(client.project.list())).code, "response_too_large");
  assert.equal((await failureOf(client.project.list())).code, "invalid_request");
});

test("a namespace is created once for each client, and can be changed", async () => {
  const [one, other] = [new Client(host.url), new Client(host.url)];
  one.secret.get = async () => "replaced";

  assert.equal(one.secret, one.secret);
  assert.notEqual(one.secret, other.secret);
  assert.equal(await one.secret.get(), "replaced");
  assert.notEqual(other.secret.get, one.secret.get);
});

test("the token is in no error and in no console output", async () => {
  const token = "kvc_token";
  const failing = async (_, { headers }) => {
    throw Object.assign(new Error(`failed with ${headers.authorization}`), { config: { headers } });
  };
  const client = new Client(host.url, { token, fetch: failing });
  const error = await failureOf(client.project.list());

  for (const shown of [inspect(client, { showHidden: true, depth: 9 }), inspect(error, { showHidden: true, depth: 9 }), error.stack]) {
    assert.doesNotMatch(shown, /kvc_/);
  }
});

test("arguments of a client are checked", async () => {
  const refused = (message) => ({ name: "SecretsError", kind: "invalid", message });
  for (const url of ["", "secrets.example.com", "ftp://x", undefined, 7]) {
    assert.throws(() => new Client(url), refused("url must be http://HOST or https://HOST"));
  }
  for (const url of ["http://u:kvc_@x", "http://x?a", "http://x#a"]) {
    assert.throws(() => new Client(url), refused("url must be an address without credentials and parameters"));
  }
  for (const token of ["", "kvc_a\r\nX: y", "kvc_a\n", "kvc_é"]) {
    const message = "token must be printable ASCII without spaces and line breaks";
    assert.throws(() => new Client(host.url, { token }), refused(message));
    await assert.rejects(new Client(host.url, { token: () => token }).project.list(), refused(message));
  }
  for (const token of [undefined, null, 7]) {
    const message = "token must be a string or a function: leave the option out to send no token";
    assert.throws(() => new Client(host.url, { token }), refused(message));
  }
  for (const timeout of [0, 0.5, -1, NaN, Infinity, "5", 2 ** 31]) {
    assert.throws(() => new Client(host.url, { timeout }), refused("timeout must be a number from 1 to 2147483647"));
  }
  assert.throws(() => new Client(host.url, { total_timeout: 1 }), refused("total_timeout is not an option of Client: use totalTimeout"));
  assert.throws(() => new Client(host.url, { fetch: 1 }), refused("fetch must be a function"));
  assert.deepEqual(host.requests, []);
});

test("an error has the stack of the caller, the status and the request ID", async () => {
  const content = { error: "name is too short", code: "invalid_request", details: { fields: [{ field: "name", message: "is too short" }] } };
  host.responses.push(json(400, content, { "x-request-id": "r-7" }));
  async function callerOfAnOperation() {
    await new Client(host.url).project.create({ name: "" });
  }

  const error = await failureOf(callerOfAnOperation());

  assert.match(error.stack, /callerOfAnOperation/);
  const { kind, code, fields, status, requestId } = error;
  assert.deepEqual({ kind, code, fields, status, requestId }, {
    kind: "invalid", code: "invalid_request", fields: content.details.fields, status: 400, requestId: "r-7",
  });
});

let server;
before(async () => {
  server = await startServer("javascript-client");
});
after(() => server?.close());

test("a server process is used like a service in memory", async () => {
  const alice = new Client(server.url, { token: tokenOf("alice") });
  const unknown = await failureOf(alice.project.list());
  assert.deepEqual([unknown.kind, unknown.status], ["unauthenticated", 401]);
  assert.match(unknown.requestId, /./);

  await alice.user.sync();
  const { slug: project } = await alice.project.create({ name: "Shop" });
  const at = { project, environment: "staging" };
  await alice.secret.import({ ...at, secrets: [{ key: "URL", value: "kvc_url" }, { key: "KEY", value: "kvc_é" }] });
  const secret = await alice.secret.get({ ...at, key: "KEY" });

  assert.equal(secret.value, "kvc_é");
  assert.doesNotMatch(inspect(secret), /kvc_/);
  assert.deepEqual({ ...toRecord(await alice.secret.export(at)) }, { URL: "kvc_url", KEY: "kvc_é" });
  assert.match((await alice.secret.export({ ...at, format: "dotenv" })).text, /URL=.*kvc_url/);
  assert.equal((await failureOf(alice.secret.get({ ...at, key: "NONE" }))).kind, "not_found");
  const { bundle, key, signer } = await alice.secret.bundle({ ...at, recipients: [{ type: "raw" }] });
  const opened = openBundle(Buffer.from(bundle, "base64"), { key, signer });
  assert.deepEqual({ ...toRecord(opened) }, { URL: "kvc_url", KEY: "kvc_é" });
  const archive = await alice.account.exportSecrets({ include_secrets: true, passphrase: "correct horse battery staple" });
  assert.match(archive, /^[A-Za-z0-9+/]+=*$/);
  const login = await alice.deviceLogin.start({ client_id: "cli" });
  const grant = "urn:ietf:params:oauth:grant-type:device_code";
  const pending = await new Client(server.url).deviceLogin.poll({ grant_type: grant, device_code: login.device_code, client_id: "cli" });
  assert.equal(pending.error, "authorization_pending");
  const { token } = await alice.token.create({ name: "deploy", all_projects: true, permissions: ["read"] });
  assert.equal((await new Client(server.url, { token }).project.list()).length, 1);
  assert.equal(await alice.project.delete({ project }), null);
});

test("many requests at once are answered each with its own response", async () => {
  const alice = new Client(server.url, { token: tokenOf("burst") });
  await alice.user.sync();
  const { slug: project } = await alice.project.create({ name: "Burst" });
  const at = { project, environment: "staging" };
  const keys = Array.from({ length: 50 }, (_, index) => `KEY_${index}`);
  await alice.secret.import({ ...at, secrets: keys.map((key) => ({ key, value: `kvc_${key}` })) });

  const secrets = await Promise.all([...keys, ...keys].map((key) => alice.secret.get({ ...at, key })));

  assert.deepEqual(secrets.map(({ value }) => value), [...keys, ...keys].map((key) => `kvc_${key}`));
});
