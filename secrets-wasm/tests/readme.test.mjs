// Fenced blocks of the README. Each is run, in Node.js or in Chromium; blocks in TypeScript are also
// type-checked.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Browser } from "../../tests/browser/driver.mjs";
import { serve } from "../../tests/browser/server.mjs";
import { installed, packed, profile, root, target, vectorsOf } from "./places.mjs";
import { createAuthority, runProgram, startIntermediary } from "./processes.mjs";
import { blocks, readme } from "./readme.mjs";
import { createSecret, startServer } from "./server.mjs";

const tools = join(root, "tests/wasm/node_modules");

// Working folder of the blocks, with the files that they read.
const folder = createAuthority(join(target, "test/readme"));
const bundle = vectorsOf("bundle.json").vectors.find(({ name }) => name === "for a passphrase, with the costs of ours");
writeFileSync(join(folder, "production.bundle"), Buffer.from(bundle.bundle, "base64"));

// Server and proxy, whose addresses the blocks read from the environment.
let server, proxy, env;

before(async () => {
  [server, proxy] = await Promise.all([startServer("javascript-readme"), startIntermediary("proxy")]);
  env = { SECRETS_URL: server.url, SECRETS_TOKEN: await createSecret(server.url, "kvc_url"), HTTPS_PROXY: proxy.url };
});

after(() => Promise.all([server?.close(), proxy?.close()]));

function runInNode(code, name) {
  const withPassphrase = code.replace("correct horse battery staple", bundle.unlock.text);
  const { status, stdout, stderr } = runProgram(`${name}.mjs`, withPassphrase, { cwd: folder, env });

  assert.deepEqual([status, stderr], [0, ""]);
  assert.notEqual(stdout, "");
}

// Checks the types of a program, and runs it as one file that esbuild builds with the options of the README.
function buildAndRun(code, name) {
  const source = join(installed, `${name}.mts`);
  writeFileSync(source, code);
  const flags = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "--types", "node", "--typeRoots", join(tools, "@types")];
  const checked = spawnSync(join(tools, ".bin/tsc"), [...flags, source], { cwd: installed, encoding: "utf8" });
  assert.equal(checked.status, 0, checked.stdout);

  const options = readme.match(/--loader:[^`]+/)[0].split(" ");
  const output = join(folder, `${name}.mjs`);
  execFileSync(join(tools, ".bin/esbuild"), [source, "--bundle", "--format=esm", ...options, "--log-level=warning", `--outfile=${output}`]);
  // Discards the output, which would quote the whole module after an error.
  const { status } = spawnSync(process.execPath, [output], { cwd: folder, env, stdio: "ignore" });
  assert.equal(status, 0);
}

// Opens a page with the policy of the README, and waits until its script has loaded the module.
async function openInBrowser(code) {
  const [, script] = code.match(/<script[^>]*>([^]*)<\/script>/);
  const hash = createHash("sha256").update(script).digest("base64");
  const [scripts, connections] = ["script-src", "connect-src"].map((name) => readme.match(new RegExp(`\`(${name} [^\`]+)\``))[1]);
  const headers = { "content-security-policy": `default-src 'none'; ${scripts} 'sha256-${hash}'; ${connections}` };
  const site = await serve({ folders: { node_modules: join(installed, "node_modules") }, files: { "/": code }, headers });
  rmSync(profile("readme"), { recursive: true, force: true });
  const browser = await Browser.open({ folder: profile("readme") });
  try {
    await browser.goTo(`${site.url}/`);
    await browser.until(() => performance.getEntriesByType("resource").some(({ name }) => name.endsWith(".wasm")));
    const { openBundle } = await browser.run(async (source) => {
      const module = await import(source);
      return { openBundle: typeof module.openBundle };
    }, script.match(/from "\.(.+)"/)[1]);

    assert.equal(openBundle, "function");
    assert.deepEqual(await browser.complaints(), []);
  } finally {
    await browser.close();
    await site.close();
  }
}

// The package is already installed from a file, so only the name is checked.
function namesPackage(code) {
  const { name } = JSON.parse(readFileSync(join(packed, "package.json"), "utf8"));

  assert.equal(code, `npm install ${name}\n`);
}

const CHECKS = { sh: namesPackage, js: runInNode, ts: buildAndRun, html: openInBrowser };

for (const [index, { language, code }] of blocks.entries()) {
  test(`block ${index + 1} of the README works: ${language}`, async () => {
    assert.ok(Object.hasOwn(CHECKS, language), `no check for the language "${language}"`);
    await CHECKS[language](code, `block-${index + 1}`);
  });
}

test("every fence of the README begins or ends a block", () => {
  assert.equal(readme.match(/^ *(```|~~~)/gm).length, 2 * blocks.length);
});
