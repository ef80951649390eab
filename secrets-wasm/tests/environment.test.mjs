// Settings of the HTTP client from environment variables, in Node.js.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";

import { packed, target } from "./places.mjs";
import { runProgram } from "./processes.mjs";

const load = (name) => import(pathToFileURL(join(packed, name)));
const { Client, SecretsError } = await load("client.node.js");

const folder = join(target, "test/environment");
mkdirSync(folder, { recursive: true });

// Writes a file that can contain a token, and returns its path.
function fileWith(name, content) {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const URL_ONLY = { SECRETS_URL: "https://secrets.example.com/base" };
const FILE = fileWith("token", "kvc_token\n");

// Function `fetch` that keeps its requests and answers with an empty list.
function recorder() {
  const requests = [];
  const fetch = async (url, { headers }) => {
    requests.push([url, headers.authorization]);
    return Response.json({ projects: [] });
  };
  return { requests, fetch };
}

const VARIABLES = ["SECRETS_URL", "SECRETS_TOKEN", "SECRETS_TOKEN_FILE"];
const clear = () => VARIABLES.forEach((name) => delete process.env[name]);
clear();
afterEach(clear);

const settings = {
  "a token": [{ ...URL_ONLY, SECRETS_TOKEN: "kvc_token" }, "Bearer kvc_token"],
  "the file of a token": [{ ...URL_ONLY, SECRETS_TOKEN_FILE: FILE }, "Bearer kvc_token"],
  "an empty token and a file": [{ ...URL_ONLY, SECRETS_TOKEN: "", SECRETS_TOKEN_FILE: FILE }, "Bearer kvc_token"],
  "a token and an empty path": [{ ...URL_ONLY, SECRETS_TOKEN: "kvc_token", SECRETS_TOKEN_FILE: "" }, "Bearer kvc_token"],
  "no token": [URL_ONLY, undefined],
  "undefined variables": [{ ...URL_ONLY, SECRETS_TOKEN: undefined, SECRETS_TOKEN_FILE: undefined }, undefined],
};
for (const [name, [env, authorization]] of Object.entries(settings)) {
  test(`a client is created from the variables of the process and from an object: ${name}`, async () => {
    for (const [variable, value] of Object.entries(env)) if (value !== undefined) process.env[variable] = value;

    for (const given of [undefined, process.env, env]) {
      const { requests, fetch } = recorder();
      const client = Client.fromEnv(given, { fetch });

      assert.ok(client instanceof Client);
      assert.deepEqual(await client.project.list(), []);
      assert.deepEqual(requests, [["https://secrets.example.com/base/api/v1/projects", authorization]]);
      assert.doesNotMatch(inspect(client, { showHidden: true, depth: 9 }), /kvc_/);
    }
  });
}

const refusals = {
  "no variables": [{}, "SECRETS_URL is not set"],
  "an empty address": [{ SECRETS_URL: "", SECRETS_TOKEN: "kvc_a" }, "SECRETS_URL is not set"],
  "no address": [{ SECRETS_URL: "kvc_a" }, "url must be http://HOST or https://HOST"],
  "a token and a file": [
    { ...URL_ONLY, SECRETS_TOKEN: "kvc_a", SECRETS_TOKEN_FILE: "kvc_b" },
    "only one of SECRETS_TOKEN and SECRETS_TOKEN_FILE may be set",
  ],
  "a token with a space": [{ ...URL_ONLY, SECRETS_TOKEN: "kvc_a b" }, "token must be printable ASCII without spaces and line breaks"],
  "an empty file": [{ ...URL_ONLY, SECRETS_TOKEN_FILE: fileWith("empty", "") }, "SECRETS_TOKEN_FILE: the file is empty"],
  "a file with white space": [{ ...URL_ONLY, SECRETS_TOKEN_FILE: fileWith("blank", " \n") }, "SECRETS_TOKEN_FILE: the file is empty"],
  "a file that is no text": [
    { ...URL_ONLY, SECRETS_TOKEN_FILE: fileWith("bytes", Buffer.from("kvc_\xff", "latin1")) },
    "token must be printable ASCII without spaces and line breaks",
  ],
  "a file that does not exist": [
    { ...URL_ONLY, SECRETS_TOKEN_FILE: join(folder, "kvc_nothing") },
    "SECRETS_TOKEN_FILE: the file cannot be read (ENOENT)",
  ],
  "a folder": [{ ...URL_ONLY, SECRETS_TOKEN_FILE: folder }, "SECRETS_TOKEN_FILE: the file cannot be read (EISDIR)"],
  "null": [null, "env must be an object"],
  "a text": ["kvc_a", "env must be an object"],
};
for (const [name, [env, message]] of Object.entries(refusals)) {
  test(`an error names the variable and contains no value: ${name}`, () => {
    assert.throws(() => Client.fromEnv(env), (error) => {
      assert.ok(error instanceof SecretsError, inspect(error));
      assert.deepEqual([error.kind, error.message], ["invalid", message]);
      assert.doesNotMatch(inspect(error, { showHidden: true, depth: 9 }), /kvc_/);
      return true;
    });
  });
}

test("the options are those of a client, without the token", () => {
  const refused = (message) => ({ kind: "invalid", message });
  assert.throws(() => Client.fromEnv(URL_ONLY, { token: "kvc_a" }), refused("token is not an option of Client.fromEnv"));
  assert.throws(() => Client.fromEnv(URL_ONLY, { total_timeout: 1 }), refused("total_timeout is not an option of Client.fromEnv: use totalTimeout"));
  assert.throws(() => Client.fromEnv(URL_ONLY, { timeout: 0 }), refused("timeout must be a number from 1 to 2147483647"));
});

test("a subclass creates its own clients", () => {
  class Own extends Client {}

  assert.ok(Own.fromEnv(URL_ONLY) instanceof Own);
});

for (const entry of ["secrets-service", "secrets-service/client"]) {
  test(`the entry for Node.js reads the file of a token: ${entry}`, () => {
    const code = `
      import { Client } from "${entry}";
      const fetch = async (url, { headers }) => {
        console.log(url, headers.authorization === "Bearer kvc_token");
        return Response.json({ projects: [] });
      };
      await Client.fromEnv(undefined, { fetch }).project.list();
    `;
    const env = { ...URL_ONLY, SECRETS_TOKEN_FILE: FILE };

    const stdout = "https://secrets.example.com/base/api/v1/projects true\n";
    assert.deepEqual(runProgram("environment.mjs", code, { env }), { status: 0, stdout, stderr: "" });
  });
}
