// Arguments, errors and console output of the installed package in Node.js.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { Console } from "node:console";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Writable } from "node:stream";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import { runInNewContext } from "node:vm";
import { MessageChannel, receiveMessageOnPort } from "node:worker_threads";

import { packed, root, vectorsOf } from "./places.mjs";

const module = await import(pathToFileURL(join(packed, "index.node.js")));
const small = await import(pathToFileURL(join(packed, "bundle.node.js")));
const { Client, SecretsError, Service, openBundle, verifyWebhook } = module;

const golden = vectorsOf("bundle.json").vectors.find(({ name }) => name === "golden bundle");
const file = Uint8Array.from(Buffer.from(golden.bundle, "base64"));
const options = { key: golden.unlock.text, now: golden.now };
const alice = { issuer: "tests", subject: "alice", email: "alice@example.com" };

const refused = (kind, message) => (error) => {
  assert.ok(error instanceof SecretsError, String(error));
  assert.equal(error.kind, kind);
  assert.equal(error.message, message);
  return true;
};

const misspelled = [
  ["atleast", ": use atLeast"],
  ["at_least", ": use atLeast"],
  ["signr", ""],
  ["Signer", ": use signer"],
  ["private_key", ": use privateKey"],
];
for (const [name, suggestion] of misspelled) {
  test(`a misspelled option of openBundle is refused by name: ${name}`, () => {
    const message = `${name} is not an option of openBundle${suggestion}`;
    for (const { openBundle } of [module, small]) {
      assert.throws(() => openBundle(file, { ...options, [name]: "x" }), refused("invalid", message));
    }
  });
}

test("unknown options of other functions are refused by name", async () => {
  const service = await Service.memory();
  const session = await service.signIn(alice);

  await assert.rejects(Service.memory({ rootkey: 1 }), refused("invalid", "rootkey is not an option of Service.memory: use rootKey"));
  await assert.rejects(service.signIn({ ...alice, mail: "" }), refused("invalid", "mail is not an option of signIn"));
  await assert.rejects(session.project.list({}, { sginal: 1 }), refused("invalid", "sginal is not an option of call"));
  assert.throws(() => verifyWebhook({ secrt: "", headers: {} }), refused("invalid", "secrt is not an option of verifyWebhook"));
  assert.throws(() => module.openRecord({ key_version: 1 }), refused("invalid", "key_version is not an option of openRecord: use keyVersion"));
});

for (const signer of [undefined, null, 7]) {
  test(`a signer that is given must be a text: ${signer}`, () => {
    const message = "signer must be a string: leave the option out to accept any signer";
    assert.throws(() => openBundle(file, { ...options, signer }), refused("invalid", message));
  });
}

const padded = new ArrayBuffer(file.length + 16);
new Uint8Array(padded).set(file, 8);
const shared = new Uint8Array(new SharedArrayBuffer(file.length));
shared.set(file);
const forms = {
  ArrayBuffer: file.buffer,
  Uint8Array: file,
  Buffer: Buffer.from(file),
  DataView: new DataView(padded, 8, file.length),
  Int8Array: new Int8Array(padded, 8, file.length),
  "view of a SharedArrayBuffer": shared,
  "ArrayBuffer of another realm": runInNewContext("Uint8Array.from(bytes).buffer", { bytes: [...file] }),
};
for (const [name, bundle] of Object.entries(forms)) {
  test(`a bundle can be given as ${name}`, () => {
    assert.equal(openBundle(bundle, options).secrets.length, golden.secrets.length);
    assert.equal(small.openBundle(bundle, options).secrets.length, golden.secrets.length);
  });
}

for (const bundle of [undefined, null, "text", 7, [...file], {}, new Blob([file])]) {
  test(`a bundle cannot be ${Object.prototype.toString.call(bundle)}`, () => {
    assert.throws(() => openBundle(bundle, options), refused("invalid", "bundle must be an ArrayBuffer or a view of one"));
  });
}

test("an argument of another type is refused by name", async () => {
  const service = await Service.memory();
  const session = await service.signIn(alice);

  for (const value of [undefined, null, 7, {}]) {
    assert.throws(() => module.parse(value, "dotenv"), refused("invalid", "text must be a string"));
    assert.throws(() => module.parse("", value), refused("invalid", "format must be a string"));
    assert.throws(() => module.render([], value), refused("invalid", "format must be a string"));
    assert.throws(() => module.scan(value), refused("invalid", "text must be a string"));
    assert.throws(() => module.isPlausibleToken(value), refused("invalid", "token must be a string"));
    assert.throws(() => service.asToken(value), refused("invalid", "token must be a string"));
    await assert.rejects(session.call(value), refused("invalid", "name must be a string"));
  }
  for (const value of [undefined, null, "key", [1]]) {
    assert.throws(() => openBundle(file, value), refused("invalid", "options of openBundle must be an object"));
    assert.throws(() => verifyWebhook(value), refused("invalid", "options of verifyWebhook must be an object"));
  }
  await assert.rejects(Service.memory({ rootKey: "" }), refused("invalid", "rootKey must be an ArrayBuffer or a view of one"));
  await assert.rejects(Service.memory({ rootKey: new ArrayBuffer(31) }), refused("invalid", "rootKey must have 32 bytes"));
  await Service.memory({ rootKey: new ArrayBuffer(32) });
});

test("a service and a session are not created with new", () => {
  assert.throws(() => new Service(), refused("invalid", "a Service is created by Service.memory()"));
  assert.throws(() => new module.Session(), refused("invalid", "a Session is created by service.signIn() or service.asToken()"));
});

const delivery = vectorsOf("webhook.json").vectors.find(({ name }) => name === "published");
const { secret, body, now } = delivery;
const sent = { "webhook-id": delivery.id, "webhook-timestamp": delivery.timestamp, "webhook-signature": delivery.signature };
const renamed = (rename) => Object.fromEntries(Object.entries(sent).map(([name, value]) => [rename(name), value]));
const title = (name) => name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
const headersLike = {
  "lower case": sent,
  "upper case": renamed((name) => name.toUpperCase()),
  "title case": renamed(title),
  "arrays of one": Object.fromEntries(Object.entries(sent).map(([name, value]) => [name, [value]])),
  Headers: new Headers(sent),
  Map: new Map(Object.entries(renamed(title))),
  "an object without a prototype": Object.assign(Object.create(null), sent),
};
for (const [name, headers] of Object.entries(headersLike)) {
  test(`a delivery is verified with headers of this form: ${name}`, () => {
    for (const received of [body, new TextEncoder().encode(body), new TextEncoder().encode(body).buffer]) {
      verifyWebhook({ secret, headers, body: received, now });
    }
    assert.throws(() => verifyWebhook({ secret, headers, body: `${body} `, now }), { kind: "tampered" });
  });
}

test("a missing or repeated header is named", () => {
  for (const name of Object.keys(sent)) {
    for (const value of [undefined, null, []]) {
      const headers = { ...sent, [name]: value };
      assert.throws(() => verifyWebhook({ secret, headers, body, now }), refused("malformed", `header ${name} is missing`));
    }
    const twice = [{ ...sent, [name]: [sent[name], sent[name]] }, { ...sent, [title(name)]: sent[name] }];
    for (const headers of twice) {
      const message = `header ${name} is given more than once`;
      assert.throws(() => verifyWebhook({ secret, headers, body, now }), refused("malformed", message));
    }
    const headers = { ...sent, [name]: 7 };
    assert.throws(() => verifyWebhook({ secret, headers, body, now }), refused("malformed", `header ${name} must be a string`));
  }
  assert.throws(() => verifyWebhook({ secret, body, now }), refused("invalid", "headers must be Headers, a Map or an object"));
  const message = "body must be the raw body: a string, an ArrayBuffer or a view of one";
  assert.throws(() => verifyWebhook({ secret, headers: sent, body: {}, now }), refused("invalid", message));
});

test("errors have a class, a name, and the stack of the caller", async () => {
  const session = await (await Service.memory()).signIn(alice);
  async function callerOfAnOperation() {
    await session.project.create({ name: "" });
  }
  function callerOfAFunction() {
    openBundle(new Uint8Array(), options);
  }

  for (const [caller, kind] of [[callerOfAnOperation, "invalid"], [async () => callerOfAFunction(), "malformed"]]) {
    await assert.rejects(caller, (error) => {
      assert.ok(error instanceof SecretsError);
      assert.equal(error.name, "SecretsError");
      assert.equal(error.kind, kind);
      assert.match(error.stack, /callerOf/);
      assert.doesNotMatch(error.stack, /wasm-function/);
      return true;
    });
  }
});

test("an error survives postMessage as a plain object", async () => {
  const session = await (await Service.memory()).signIn(alice);
  const error = await session.project.create({ name: "" }).catch((error) => error);
  const { port1, port2 } = new MessageChannel();

  port1.postMessage(error.toJSON());
  const { message } = receiveMessageOnPort(port2);
  port1.close();
  const revived = SecretsError.fromJSON(message);

  assert.ok(revived instanceof SecretsError);
  assert.deepEqual(revived.toJSON(), error.toJSON());
  assert.deepEqual(JSON.parse(JSON.stringify(error)), error.toJSON());
  assert.deepEqual([revived.kind, revived.message, revived.fields], [error.kind, error.message, error.fields]);
});

test("console output does not contain secret values", async () => {
  const session = await (await Service.memory()).signIn(alice);
  const { slug: project } = await session.project.create({ name: "Shop" });
  const at = { project, environment: "staging" };
  await session.secret.create({ ...at, key: "URL", value: "kvc_url" });
  const token = await session.token.create({ name: "deploy", all_projects: true, permissions: ["read"] });
  const bundle = await session.secret.bundle({ ...at, recipients: [{ type: "raw" }] });
  const opened = openBundle(Buffer.from(bundle.bundle, "base64"), { key: bundle.key });
  const secret = await session.secret.get({ ...at, key: "URL" });
  const results = [
    secret, opened, token, bundle, module.toRecord(opened), module.parse("URL=kvc_url", "dotenv"),
    await session.secret.export(at), await session.secret.export({ ...at, format: "json" }),
  ];

  for (const result of results) {
    const shown = inspect({ results: [result] }, { depth: 9 });
    assert.match(shown, /\[hidden\]/);
    assert.doesNotMatch(shown, new RegExp(`kvc_|scbk_|${token.token}`));
  }
  assert.equal(secret.value, "kvc_url");
  assert.equal({ ...secret }.value, "kvc_url");
  assert.equal(JSON.parse(JSON.stringify(secret)).value, "kvc_url");
  assert.equal(structuredClone(secret).value, "kvc_url");
  assert.match(inspect(secret), /key: 'URL'/);
});

test("the README names the output that shows values", async () => {
  const readme = readFileSync(join(root, "secrets-wasm/README.md"), "utf8");
  const [, section] = readme.match(/^## Secret values in logs\n(.*?)^## /ms);
  const said = [];
  const sink = new Writable({
    write(chunk, _, done) {
      said.push(chunk);
      done();
    },
  });
  const secrets = module.parse("URL=kvc_url", "dotenv");
  const shown = {
    "console.dir": () => new Console(sink).dir(secrets),
    "console.table": () => new Console(sink).table(secrets),
    "assert.deepEqual": () => {
      try {
        assert.deepEqual(secrets, []);
      } catch ({ message }) {
        said.push(message);
      }
    },
  };

  for (const [name, show] of Object.entries(shown)) {
    said.length = 0;
    show();
    assert.ok(said.join("").includes("kvc_url"), name);
    assert.ok(section.includes(`\`${name}\``), name);
  }
});

test("the values of secrets by key, also of a key that objects inherit", () => {
  const secrets = [{ key: "A", value: "1" }, { key: "__proto__", value: "2" }];

  for (const record of [module.toRecord(secrets), module.toRecord({ secrets }), small.toRecord(new Set(secrets))]) {
    assert.deepEqual(Object.entries(record), [["A", "1"], ["__proto__", "2"]]);
    assert.equal(record.toString, undefined);
  }
  for (const value of [undefined, null, 7, "text", {}]) {
    assert.throws(() => module.toRecord(value), refused("invalid", "secrets must be a bundle or a list of secrets"));
  }
  assert.throws(() => module.toRecord([{ key: "A" }]), refused("invalid", "value must be a string"));
});

test("a time can be a date, and an invalid date is refused", async () => {
  const session = await (await Service.memory()).signIn(alice);
  const expires = new Date(Date.now() + 86_400_000);
  const input = { name: "deploy", all_projects: true, permissions: ["read"] };

  const token = await session.token.create({ ...input, expires_at: expires });

  assert.equal(Date.parse(token.expires_at), expires.getTime());
  for (const one of [session, new Client("http://127.0.0.1:1")]) {
    const created = one.token.create({ ...input, expires_at: new Date(NaN) });
    await assert.rejects(created, refused("invalid", "expires_at must be a valid date"));
  }
});

test("an aborted signal stops a call before it begins", async () => {
  const session = await (await Service.memory()).signIn(alice);
  const reason = new Error("no longer needed");

  await assert.rejects(session.project.create({ name: "Shop" }, { signal: AbortSignal.abort(reason) }), reason);
  assert.deepEqual(await session.project.list(), []);
});

test("an uncaught error shows its kind and no value", () => {
  const code = `import { parse } from ${JSON.stringify(pathToFileURL(join(packed, "index.node.js")))}; parse("kvc_x", "dotenv");`;
  const run = () => execFileSync(process.execPath, ["--input-type=module", "-e", code], { stdio: "pipe" });

  assert.throws(run, ({ stderr }) => {
    assert.match(String(stderr), /SecretsError: /);
    assert.match(String(stderr), /kind: 'invalid'/);
    return !String(stderr).replace(code, "").includes("kvc_x");
  });
});
