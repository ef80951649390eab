// The installed package in Node.js.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { check } from "../../tests/vectors/check.mjs";
import { run } from "../../tests/cases/run.mjs";
import { cases, installed, packed, program, root, vectorFiles, vectorsOf } from "./places.mjs";
import { startServer, tokenOf } from "./server.mjs";

const module = await import(pathToFileURL(join(packed, "index.node.js")));
const small = await import(pathToFileURL(join(packed, "bundle.node.js")));

test("every vector gives the expected result, and every file is checked", async () => {
  const { counts, failures } = await check(module, vectorFiles, vectorsOf);

  assert.deepEqual(failures, []);
  console.log("# vectors in Node.js:", JSON.stringify(counts));
});

test("the small module for bundles gives the same results", () => {
  const [vector] = vectorsOf("token.json").vectors;

  assert.equal(small.isPlausibleToken(vector.token), true);
});

test("the service passes the behavioural cases", async () => {
  const { cases: count, failures } = await run(await module.Service.memory(), cases());

  assert.deepEqual(failures, []);
  assert.ok(count >= 300, `only ${count} cases`);
  console.log("# cases in Node.js:", count);
});

test("the HTTP client passes the behavioural cases", async () => {
  const { url, close } = await startServer("javascript-cases");
  try {
    const service = {
      async signIn({ email }) {
        const client = new module.Client(url, { token: tokenOf(email.replace("@example.com", "")) });
        await client.user.sync();
        return client;
      },
      asToken: (token) => new module.Client(url, { token }),
    };
    const { cases: count, failures } = await run(service, cases());

    assert.deepEqual(failures, []);
    assert.ok(count >= 300, `only ${count} cases`);
    console.log("# cases with the client:", count);
  } finally {
    await close();
  }
});

test("every operation has a method and a declaration, and no other does", async () => {
  const service = await module.Service.memory();
  const session = await service.signIn({ issuer: "tests", subject: "alice", email: "alice@example.com" });
  const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
  const declared = readFileSync(join(packed, "operations.d.ts"), "utf8");
  const names = [...declared.matchAll(/^  \| "([a-z_.]+)"/gm)].map(([, name]) => name);

  assert.deepEqual(names.sort(), module.operations().sort());
  for (const name of names) {
    const [noun, verb] = name.split(".").map(camel);
    assert.equal(typeof session[noun][verb], "function", name);
  }
});

test("a refusal has its kind, code and field", async () => {
  const service = await module.Service.memory();
  const session = await service.signIn({ issuer: "tests", subject: "alice", email: "alice@example.com" });

  await assert.rejects(session.project.create({ name: "" }), (error) => {
    assert.ok(error instanceof Error);
    assert.equal(error.kind, "invalid");
    assert.deepEqual(error.fields.map(({ field }) => field), ["name"]);
    return true;
  });
  await assert.rejects(session.call("secret.conjure"), { kind: "not_found" });
  await assert.rejects(session.call("project.create", 7), { kind: "invalid" });
  await assert.rejects(service.asToken("env_nonsense").project.list(), { kind: "unauthenticated", code: "unauthorized" });
});

test("a token is checked again at each call", async () => {
  const service = await module.Service.memory({ rootKey: new Uint8Array(32) });
  const alice = await service.signIn({ issuer: "tests", subject: "alice", email: "alice@example.com", name: "Alice" });
  await alice.project.create({ name: "Shop" });
  const made = await alice.token.create({ name: "deploy", all_projects: true, permissions: ["read"] });
  const deploy = service.asToken(made.token);

  assert.equal((await deploy.project.list()).length, 1);
  await alice.token.delete({ token: made.id });
  await assert.rejects(deploy.project.list(), { kind: "unauthenticated" });
});

test("an invalid root key is refused", async () => {
  await assert.rejects(module.Service.memory({ rootKey: new Uint8Array(31) }), { kind: "invalid" });
});

const [golden] = vectorsOf("record.json").vectors;
const bytes = (hex) => new Uint8Array(Buffer.from(hex, "hex"));
const record = {
  record: bytes(golden.record),
  key: bytes(golden.dek),
  keyVersion: golden.dek_ver,
  purpose: golden.purpose,
  hidden: golden.flags === 1,
  instance: golden.instance_id,
  project: golden.project_id,
  environment: golden.environment_id,
  object: golden.object_id,
  keyName: golden.key_name,
  version: BigInt(golden.version),
};
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
  test(`an invalid argument is named: ${name}`, () => {
    const call = () => module.openRecord({ ...record, [name]: argument });

    assert.throws(call, { kind: "invalid", message: `${name} is missing or invalid` });
  });
}

test("a version that is a number and no BigInt is refused, since it may have been rounded", () => {
  assert.throws(() => module.openRecord({ ...record, version: 7 }), { kind: "invalid" });
  assert.throws(() => module.openRecord(undefined), (error) => error instanceof Error && error.kind === "invalid");
});

test("the declarations and endpoints are generated from the OpenAPI document", () => {
  const made = join(installed, "generated");
  mkdirSync(made, { recursive: true });
  const document = execFileSync(program, ["openapi"], { maxBuffer: 1e8 });
  const generator = join(root, "secrets-py/generate/operations.py");
  execFileSync("python3", [generator, "--typescript", join(made, "operations.d.ts")], { input: document });

  for (const name of ["operations.d.ts", "endpoints.js"]) {
    const same = readFileSync(join(made, name), "utf8") === readFileSync(join(packed, name), "utf8");
    assert.ok(same, `js/${name} is old: secrets-http openapi | secrets-py/generate/operations.py --typescript secrets-wasm/js/operations.d.ts`);
  }
});

const resolutions = {
  nodenext: ["consumer.ts", "--module", "nodenext"],
  node16: ["consumer.mts", "--module", "node16"],
  bundler: ["consumer.ts", "--module", "esnext", "--moduleResolution", "bundler"],
};
for (const [name, [file, ...module]] of Object.entries(resolutions)) {
  test(`the declarations match the package in strict TypeScript: ${name}`, () => {
    copyFileSync(join(root, "secrets-wasm/tests/consumer.ts"), join(installed, file));
    const tools = join(root, "tests/wasm/node_modules");
    // The package has types, so this checks that a client accepts the `fetch` of undici.
    const strict = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--skipLibCheck", "false"];
    const flags = [...strict, "--noEmit", "--target", "es2022", "--lib", "es2022,dom"];
    const types = ["--types", "node", "--typeRoots", join(tools, "@types")];
    const checked = spawnSync(join(tools, ".bin/tsc"), [...flags, ...module, ...types, file], { cwd: installed });

    assert.equal(checked.status, 0, `${checked.stdout}${checked.stderr}`);
  });
}

// Bundle that the example opens.
const bundle = vectorsOf("bundle.json").vectors.find(({ name }) => name === "for a passphrase, with the costs of ours");
const passphrase = bundle.unlock.text;
writeFileSync(join(installed, "production.bundle"), Buffer.from(bundle.bundle, "base64"));

const example = join(installed, "decrypt.mjs");
copyFileSync(join(root, "examples/node/decrypt.mjs"), example);
const decrypt = (input, ...others) =>
  spawnSync(process.execPath, [example, "production.bundle", ...others], { cwd: installed, encoding: "utf8", input });

test("the example prints the keys of a bundle, and none of its values", () => {
  const { status, stdout, stderr } = decrypt(`${passphrase}\n`, bundle.about.signer);

  assert.equal(stdout, bundle.secrets.map(({ key }) => `${key}\n`).join(""));
  assert.equal(status, 0, stderr);
  assert.ok(!`${stdout}${stderr}`.includes("kvc_"));
});

test("the example keeps the spaces around a passphrase", async () => {
  const spaced = `  ${passphrase}  `;
  const session = await (await module.Service.memory()).signIn({ issuer: "tests", subject: "alice", email: "alice@example.com" });
  const { slug: project } = await session.project.create({ name: "Shop" });
  const recipients = [{ type: "passphrase", passphrase: spaced }];
  const made = await session.secret.bundle({ project, environment: "staging", recipients });
  writeFileSync(join(installed, "spaced.bundle"), Buffer.from(made.bundle, "base64"));

  const given = { cwd: installed, encoding: "utf8", input: `${spaced}\r\n` };
  const { status, stderr } = spawnSync(process.execPath, [example, "spaced.bundle"], given);

  assert.equal(status, 0, stderr);
});

test("the example says why a bundle does not open", () => {
  const { status, stdout, stderr } = decrypt("another passphrase\n");

  assert.deepEqual([status, stdout], [1, ""]);
  assert.match(stderr, /^no_recipient: /);
});
