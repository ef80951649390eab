// Server process, credentials for it, and a secret in it.

import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createWriteStream, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

import { logs, packed, program } from "./places.mjs";

const { Client } = await import(pathToFileURL(join(packed, "client.js")));

const ISSUER = "https://issuer.test";
const KEY = "a secret of the test suite, of 32 bytes or more";

// Maximum time for a server to start, in milliseconds, so that a server that hangs fails the tests.
const START_TIMEOUT = 60_000;

// Starts a server, by default with its data in memory. `settings` are further environment
// variables. The test runner searches the log of the server for secret values.
export async function startServer(name, settings = {}) {
  mkdirSync(logs, { recursive: true });
  const env = {
    SECRETS_LISTEN: "127.0.0.1:0",
    SECRETS_DATABASE_URL: "memory:",
    SECRETS_ROOT_KEY: Buffer.alloc(32, 7).toString("base64"),
    SECRETS_JWT_ISSUER: ISSUER,
    SECRETS_JWT_AUDIENCE: "secrets",
    SECRETS_JWT_HS256_SECRET: KEY,
    SECRETS_RATE_LIMIT_PER_IP: "0",
    SECRETS_RATE_LIMIT_PER_PRINCIPAL: "0",
    SECRETS_RATE_LIMIT_PER_TEAM: "0",
    ...settings,
  };
  const server = spawn(program, ["serve"], { env, stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(server, "exit");
  // A test file that fails while it is loaded leaves no server behind.
  process.once("exit", () => server.kill());
  const log = createWriteStream(join(logs, `${name}.log`));
  const lines = createInterface({ input: server.stderr });
  const url = await new Promise((resolve, reject) => {
    const expired = () => {
      server.kill();
      reject(new Error(`the server did not listen within ${START_TIMEOUT} ms: see ${name}.log`));
    };
    const timer = setTimeout(expired, START_TIMEOUT);
    lines.on("line", (line) => {
      log.write(`${line}\n`);
      const [, address] = line.match(/listening on (\S+)/) ?? [];
      if (!address) return;
      clearTimeout(timer);
      resolve(address);
    });
    const failed = (error) => {
      clearTimeout(timer);
      reject(error);
    };
    ended.then(([status]) => failed(new Error(`the server ended with status ${status}`)), failed);
  });
  const end = async (signal) => {
    server.kill(signal);
    await ended;
    await new Promise((resolve) => log.end(resolve));
  };
  return { url, close: () => end("SIGTERM"), kill: () => end("SIGKILL") };
}

// Secret that the tests of clients read.
export const SHOP_URL = { project: "shop", environment: "production", key: "URL" };

// Creates the secret, with its project, as the user `owner`. Returns a service token that may read
// it. `options` are the options of the client.
export async function createSecret(url, value, options = {}) {
  const owner = new Client(url, { ...options, token: tokenOf("owner") });
  await owner.user.sync();
  await owner.project.create({ name: "Shop" });
  await owner.secret.create({ ...SHOP_URL, value });
  const { token } = await owner.token.create({ name: "reader", all_projects: true, permissions: ["read"] });
  return token;
}

// Returns a token of the identity provider for a user, valid for an hour.
export function tokenOf(subject) {
  const expires = Math.floor(Date.now() / 1000) + 3600;
  const claims = { iss: ISSUER, aud: "secrets", sub: subject, exp: expires, email: `${subject}@example.com`, email_verified: true };
  const parts = [{ alg: "HS256", typ: "JWT" }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
  const signature = createHmac("sha256", KEY).update(parts.join(".")).digest("base64url");
  return [...parts, signature].join(".");
}
