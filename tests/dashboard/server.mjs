// Server process, and credentials of its users.

import { execFileSync, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createWriteStream, mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));
const target = resolve(process.env.CARGO_TARGET_DIR ?? join(root, "target"));
const logs = process.env.SECRETS_TEST_LOGS ?? join(target, "test/logs");
// Folder of the databases.
export const databases = join(process.env.SECRETS_TEST_FOLDER ?? join(target, "test/data"), "dashboard");

const ISSUER = "https://issuer.test";
const KEY = "a secret of the test suite, of 32 bytes or more";

// Maximum time for the server to start, in milliseconds.
const START_TIMEOUT = 60_000;

const program = join(target, "debug/secrets-http");

// Starts a server with its data in memory. `settings` are further environment variables.
export const startServer = (name, settings = {}) =>
  start(name, ["serve"], {
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
  });

// Starts a development service with an empty data folder. `settings` are further environment variables.
export async function startDev(name, settings = {}) {
  const folder = join(databases, name);
  rmSync(folder, { recursive: true, force: true });
  const server = await start(name, ["dev", "--data-dir", folder, "--listen", "127.0.0.1:0"], settings);
  return { ...server, folder };
}

// Returns the output of a subcommand of `dev` for a development service.
const ofDev = (command, { folder }) =>
  execFileSync(program, ["dev", command, "--data-dir", folder, "--email", "dev@example.com"], { encoding: "utf8" }).trim();

// Returns a link that signs a browser in.
export const devLink = (server) => ofDev("link", server);

// Returns a token for the API.
export const devToken = (server) => ofDev("token", server);

async function start(name, args, env) {
  mkdirSync(logs, { recursive: true });
  const server = spawn(program, args, { env, stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(server, "exit");
  // A test file that fails while it is loaded leaves no server behind.
  process.once("exit", () => server.kill());
  const log = createWriteStream(join(logs, `${name}.log`));
  const lines = createInterface({ input: server.stderr });
  const url = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the server did not listen in time")), START_TIMEOUT);
    const stop = (result, settle) => (clearTimeout(timer), settle(result));
    lines.on("line", (line) => {
      log.write(`${line}\n`);
      const [, address] = line.match(/listening on (\S+)/) ?? [];
      if (address) stop(address, resolve);
    });
    ended.then(([status]) => stop(new Error(`the server ended with status ${status}`), reject));
  });
  const close = async () => {
    server.kill();
    await ended;
    await new Promise((resolve) => log.end(resolve));
  };
  return { url, close };
}

// Returns a token of the identity provider for a user, valid for an hour.
export function tokenOf(subject) {
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const claims = { iss: ISSUER, aud: "secrets", sub: subject, exp, email: `${subject}@example.com`, email_verified: true };
  const parts = [{ alg: "HS256", typ: "JWT" }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
  return [...parts, createHmac("sha256", KEY).update(parts.join(".")).digest("base64url")].join(".");
}
