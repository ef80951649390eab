// Programs that a test runs: intermediaries, programs that use the installed package, and `openssl`.

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { installed } from "./places.mjs";

const INTERMEDIARY = fileURLToPath(new URL("intermediary.mjs", import.meta.url));

// Maximum time for an event, such as the start of an intermediary, in milliseconds.
const EVENT_TIMEOUT = 10_000;

// Maximum duration of a program, in milliseconds.
const PROGRAM_TIMEOUT = 20_000;

// Waits until a condition holds.
export async function until(condition) {
  const end = performance.now() + EVENT_TIMEOUT;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not within ${EVENT_TIMEOUT} ms: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

// Starts an intermediary. Returns its address and the list of its events, which grows.
export async function startIntermediary(kind, settings = {}) {
  const child = spawn(process.execPath, [INTERMEDIARY, kind, JSON.stringify(settings)], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const events = [];
  createInterface({ input: child.stdout }).on("line", (line) => events.push(line));
  const close = async () => {
    child.kill();
    await ended;
  };
  try {
    await until(() => events.length > 0);
  } catch (error) {
    await close();
    throw error;
  }
  return { url: events.shift(), events, close };
}

// Runs a program that imports the installed package, with no other variables than the given ones. Returns its
// exit status and its output.
export function runProgram(name, code, { cwd = installed, env = {} } = {}) {
  const path = join(installed, name);
  writeFileSync(path, code);
  const settings = { cwd, env: { PATH: process.env.PATH, ...env }, encoding: "utf8", timeout: PROGRAM_TIMEOUT };
  const { status, stdout, stderr } = spawnSync(process.execPath, [path], settings);
  return { status, stdout, stderr };
}

const EXTENSIONS = `subjectAltName = IP:127.0.0.1
basicConstraints = critical, CA:FALSE
extendedKeyUsage = serverAuth
`;

// Creates a folder with a certificate authority (`ca.pem`), and with a certificate for 127.0.0.1 that the
// authority signed (`certificate.pem`, `key.pem`).
export function createAuthority(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "extensions"), EXTENSIONS);
  const openssl = (command) => execFileSync("openssl", command.split(" "), { cwd: folder, stdio: "pipe" });
  const newKey = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
  openssl(`req -x509 ${newKey} -days 2 -subj /CN=tests -keyout ca.key -out ca.pem`);
  openssl(`req ${newKey} -subj /CN=localhost -keyout key.pem -out request.pem`);
  openssl("x509 -req -in request.pem -extfile extensions -days 2 -CA ca.pem -CAkey ca.key -CAcreateserial -out certificate.pem");
  return folder;
}
