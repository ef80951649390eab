// HTTP client and a server with `SECRETS_ENVELOPE=both`, whose responses also have a field `data`.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { run } from "../../tests/cases/run.mjs";
import { cases, packed, program } from "./places.mjs";
import { startServer, tokenOf } from "./server.mjs";

const { Client } = await import(pathToFileURL(join(packed, "client.js")));
const { ENDPOINTS } = await import(pathToFileURL(join(packed, "endpoints.js")));

// OpenAPI document without `SECRETS_ENVELOPE=both`: the declared outputs have no field `data`.
const document = JSON.parse(execFileSync(program, ["openapi"], { encoding: "utf8", maxBuffer: 2 ** 26 }));

// Operations whose output is the whole body, an object.
const bare = Object.keys(ENDPOINTS).filter((name) => ENDPOINTS[name].envelope === null && ENDPOINTS[name].output === "object");

function schemaOf(name) {
  const all = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const { responses } = all.find((operation) => operation["x-operation"] === name);
  const status = Object.keys(responses).find((status) => status.startsWith("2"));
  return responses[status].content["application/json"].schema;
}

// Returns the fields of an object schema: all `names`, and the fields that every alternative
// requires.
function fieldsOf({ $ref, allOf, oneOf, anyOf, properties = {}, required = [] }) {
  if ($ref) return fieldsOf(document.components.schemas[$ref.split("/").at(-1)]);
  const parts = (allOf ?? []).map(fieldsOf);
  const alternatives = (oneOf ?? anyOf ?? []).map(fieldsOf);
  const common = alternatives.length ? alternatives.map(({ required }) => required).reduce((one, other) => one.filter((name) => other.includes(name))) : [];
  return {
    names: [...Object.keys(properties), ...[...parts, ...alternatives].flatMap(({ names }) => names)],
    required: [...required, ...parts.flatMap(({ required }) => required), ...common],
  };
}

// Returns the files with only the cases that check the output of an operation that no earlier case
// checks.
function firstCalls(files) {
  const called = new Set();
  return files.map(([area, { given = [], cases, ...content }]) => {
    const chosen = cases.filter(({ steps, ...step }) => {
      const calls = [...given, ...(steps ?? [step])].filter((one) => !one.fails).map((one) => one.call);
      const isFirst = calls.some((call) => !called.has(call));
      for (const call of calls) called.add(call);
      return isFirst;
    });
    return [area, { ...content, given, cases: chosen.map((one) => ({ ...one, each: one.each?.slice(0, 1) })) }];
  });
}

const declared = new Map(bare.map((name) => [name, fieldsOf(schemaOf(name))]));

test("no declared output has the field that the client removes", () => {
  const taken = [...declared].filter(([, { names }]) => names.includes("data")).map(([name]) => name);

  assert.deepEqual(taken, []);
  assert.ok(declared.size > 40, `only ${declared.size} operations`);
});

// Client that compares the fields of each output with the declared fields.
class Compared extends Client {
  static seen = new Set();
  static differences = new Set();

  async call(name, ...given) {
    const output = await super.call(name, ...given);
    const fields = declared.get(name);
    if (fields) {
      Compared.seen.add(name);
      // OAuth errors have a separate declaration.
      const added = output.error ? [] : Object.keys(output).filter((field) => !fields.names.includes(field));
      const missing = output.error ? [] : fields.required.filter((field) => !Object.hasOwn(output, field));
      if (Object.hasOwn(output, "data") || added.length || missing.length) Compared.differences.add(`${name}: ${added} ${missing}`);
    }
    return output;
  }
}

test("the behavioural cases of each operation pass, and every output has the declared fields", async () => {
  const { url, close } = await startServer("javascript-envelope", { SECRETS_ENVELOPE: "both" });
  try {
    const token = tokenOf("envelope");
    const raw = await fetch(`${url}/api/v1/auth/sync`, { method: "POST", headers: { authorization: `Bearer ${token}` } });
    assert.ok("data" in (await raw.json()), "the server sends the field");
    const service = {
      async signIn({ email }) {
        const client = new Compared(url, { token: tokenOf(email.replace("@example.com", "")) });
        await client.user.sync();
        return client;
      },
      asToken: (token) => new Compared(url, { token }),
    };

    const { cases: count, failures } = await run(service, firstCalls(cases()));

    assert.deepEqual(failures, []);
    assert.deepEqual([...Compared.differences], []);
    assert.ok(count >= 40, `only ${count} cases`);
    assert.ok(Compared.seen.size > 30, `only ${Compared.seen.size} operations`);
    console.log("# operations compared:", Compared.seen.size, "of", declared.size);
  } finally {
    await close();
  }
});
