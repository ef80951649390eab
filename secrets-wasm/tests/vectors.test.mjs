// The golden vectors of tests/vectors, read by the module for Node.js. The module's folder is
// named by SECRETS_WASM, or is where tests/run puts it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const folder = resolve(process.env.SECRETS_WASM ?? `${here}../../target/wasm/nodejs`);
const { isPlausibleToken, openRecord } = createRequire(import.meta.url)(`${folder}/secrets_wasm.js`);

function section(file, name) {
  const vectors = JSON.parse(readFileSync(`${here}../../tests/vectors/${file}`, "utf8"))[name];
  assert.ok(vectors.length > 0, `${file}: ${name} is empty`);
  return vectors;
}

const records = section("record.json", "vectors");
const tokens = section("token.json", "vectors");
const [golden] = records;

const bytes = (hex) => new Uint8Array(Buffer.from(hex, "hex"));

function record(vector) {
  assert.ok([0, 1].includes(vector.flags), "a flag that no record has");
  return {
    record: bytes(vector.record),
    key: bytes(vector.dek),
    keyVersion: vector.dek_ver,
    purpose: vector.purpose,
    hidden: vector.flags === 1,
    instance: vector.instance_id,
    project: vector.project_id,
    environment: vector.environment_id,
    object: vector.object_id,
    keyName: vector.key_name,
    version: BigInt(vector.version),
  };
}

const value = ({ value }) => (typeof value === "string" ? value : value.repeat.repeat(value.times));

for (const vector of records.filter(({ valid }) => valid)) {
  test(`a valid record opens to its value: ${vector.name}`, () => {
    assert.equal(openRecord(record(vector)), value(vector));
  });
}

for (const vector of records.filter(({ valid }) => !valid)) {
  test(`any other record is refused: ${vector.name}`, () => {
    assert.throws(() => openRecord(record(vector)), { kind: "undecryptable" });
  });
}

for (const vector of tokens.filter(({ valid }) => valid)) {
  test(`a token is plausible: ${vector.name}`, () => {
    assert.equal(isPlausibleToken(vector.token), true);
  });
}

for (const vector of tokens.filter(({ valid }) => !valid)) {
  test(`a text that is no token is not, unless only its length says so: ${vector.name}`, () => {
    assert.equal(isPlausibleToken(vector.token), vector.reason === "length");
  });
}

test("no environment is the same as the nil one", () => {
  const vector = records.find((it) => it.valid && /^[0-]*$/.test(it.environment_id));
  const { environment, ...without } = record(vector);
  assert.equal(openRecord(without), value(vector));
  assert.equal(openRecord({ ...without, environment: null }), value(vector));
});

const notArguments = {
  record: golden.record,
  key: new Uint8Array(31),
  keyVersion: 2 ** 32 + golden.dek_ver,
  purpose: 9,
  hidden: 0,
  instance: null,
  project: "production",
  environment: "",
  object: undefined,
  keyName: "K".repeat(256),
  version: 2n ** 64n + BigInt(golden.version),
};
for (const [name, argument] of Object.entries(notArguments)) {
  test(`an argument that cannot be one is named: ${name}`, () => {
    const call = () => openRecord({ ...record(golden), [name]: argument });
    assert.throws(call, { kind: "invalid", message: `${name} is missing or cannot be one` });
  });
}

test("a version that is a number and no BigInt is refused, since it may have been rounded", () => {
  assert.throws(() => openRecord({ ...record(golden), version: 7 }), { kind: "invalid" });
});

test("what is thrown is an Error", () => {
  assert.throws(() => openRecord(undefined), (error) => error instanceof Error && error.kind === "invalid");
});
