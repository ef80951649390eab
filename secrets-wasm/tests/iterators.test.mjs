// Iteration over all pages of lists, in memory and with the HTTP client.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { packed } from "./places.mjs";
import { startServer, tokenOf } from "./server.mjs";

const { Client, Service } = await import(pathToFileURL(join(packed, "index.node.js")));

let server;
before(async () => {
  server = await startServer("javascript-iterators");
});
after(() => server?.close());

async function sessionInMemory() {
  const service = await Service.memory();
  return service.signIn({ issuer: "tests", subject: "alice", email: "alice@example.com" });
}

async function client() {
  const alice = new Client(server.url, { token: tokenOf("alice") });
  await alice.user.sync();
  return alice;
}

// Creates a secret with seven previous versions.
async function changed(alice) {
  const { id: project } = await alice.project.create({ name: "Shop" });
  const at = { project, environment: "staging", key: "URL" };
  await alice.secret.create({ ...at, value: "kvc_0" });
  for (let number = 1; number <= 7; number += 1) await alice.secret.update({ ...at, value: `kvc_${number}` });
  return at;
}

async function all(iterator) {
  const items = [];
  for await (const item of iterator) items.push(item);
  return items;
}

for (const [name, open] of [["in memory", sessionInMemory], ["with the client", client]]) {
  test(`all pages are iterated: ${name}`, async () => {
    const alice = await open();
    const begin = new Date(Date.now() - 60_000);
    const at = await changed(alice);

    const versions = await all(alice.secret.iterateHistory({ ...at, limit: 3 }));
    const entries = await all(alice.audit.iterate({ project_id: at.project, action: ["secret.updated"], from: begin, limit: 3 }));

    assert.deepEqual(versions.map(({ version }) => version), [7, 6, 5, 4, 3, 2, 1]);
    assert.equal(new Set(entries.map(({ id }) => id)).size, 7);
    assert.equal(entries.length, 7);
    const older = await all(alice.secret.iterateHistory({ ...at, before: 3, limit: 1 }));
    assert.deepEqual(older.map(({ version }) => version), [2, 1]);
    const none = alice.audit.iterate({ action: ["secret.updated"], from: new Date(Date.now() + 60_000) });
    assert.deepEqual(await all(none), []);
  });

  test(`a loop can end before the last page: ${name}`, async () => {
    const alice = await open();
    let pages = 0;
    const list = alice.audit.list;
    alice.audit.list = (...given) => {
      pages += 1;
      return list(...given);
    };
    await changed(alice);

    for await (const entry of alice.audit.iterate({ limit: 2 })) {
      assert.match(entry.id, /./);
      break;
    }

    assert.equal(pages, 1);
  });

  test(`an iterator passes on errors and the signal: ${name}`, async () => {
    const alice = await open();
    const controller = new AbortController();
    const reason = new Error("no longer needed");

    await assert.rejects(alice.secret.iterateHistory({ project: "none", environment: "e", key: "K" }).next(), { kind: "not_found" });
    await assert.rejects(alice.audit.iterate([]).next(), { kind: "invalid" });
    await changed(alice);
    const entries = alice.audit.iterate({ limit: 1 }, { signal: controller.signal });
    await entries.next();
    controller.abort(reason);
    await assert.rejects(entries.next(), (error) => error === reason);
  });
}
