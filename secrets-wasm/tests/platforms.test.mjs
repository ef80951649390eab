// The installed package in each supported runtime, and built by bundlers.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { Browser } from "../../tests/browser/driver.mjs";
import { serve } from "../../tests/browser/server.mjs";
import { installed, profile, root, target, vectorsOf } from "./places.mjs";
import { readme } from "./readme.mjs";
import { createSecret, SHOP_URL, startServer } from "./server.mjs";

const golden = vectorsOf("bundle.json").vectors.find(({ name }) => name === "golden bundle");
const options = { key: golden.unlock.text, now: golden.now };
const keys = golden.secrets.map(({ key }) => key).join();

// Uses every part of the package: opens the golden bundle, here and in a worker, creates a project
// in memory, and lists the projects of a server. Passes the keys of the bundle and the names of the
// projects to `show`.
const program = (show, client) => `
  import { Service } from "secrets-service";
  import { openBundle } from "secrets-service/bundle";
  import { Client } from "secrets-service/client";
  import { openBundleInWorker } from "secrets-service/worker";
  const file = Uint8Array.from(atob(${JSON.stringify(golden.bundle)}), (letter) => letter.charCodeAt(0));
  const opened = [openBundle(file, ${JSON.stringify(options)}), await openBundleInWorker(file, ${JSON.stringify(options)})];
  const session = await (await Service.memory()).signIn({ issuer: "tests", subject: "alice", email: "alice@example.com" });
  const created = await session.project.create({ name: "Web" });
  const client = ${client};
  const projects = [created, ...await client.project.list()];
  ${show}([...opened.map(({ secrets }) => secrets.map(({ key }) => key).join()), ...projects.map(({ slug }) => slug)].join(" "));
`;
const shown = `${keys} ${keys} web shop`;

const folder = join(target, "test/platforms");
const tools = join(root, "tests/wasm/node_modules");
const sourceOf = (name, code) => {
  // The program is in the folder of the installed package, where it can import the package.
  const path = join(installed, name);
  writeFileSync(path, code);
  return path;
};

function run(command, args) {
  // Does not pass on the variables of this process. Sets a separate home folder and the settings of
  // the client.
  const own = { PATH: process.env.PATH, HOME: folder, DENO_DIR: join(folder, "deno"), DENO_NO_UPDATE_CHECK: "1" };
  const env = { ...own, SECRETS_URL: service.url, SECRETS_TOKEN_FILE: sourceOf("token", `${token}\n`) };
  return execFileSync(command, args, { cwd: installed, env, encoding: "utf8", timeout: 60_000 });
}

const OLDEST = join(tools, "node18/bin/node");
const runtimes = [
  ["the oldest supported Node.js", OLDEST, []],
  ["the Node.js of the tests", process.execPath, []],
  [
    "Deno",
    join(tools, ".bin/deno"),
    ["run", "--no-remote", `--allow-read=${installed}`, "--allow-net=127.0.0.1", readme.match(/--allow-env=[^`]+/)[0]],
  ],
  ["Bun", join(tools, ".bin/bun"), ["run"]],
];

let service, token, server, browser;

before(async () => {
  service = await startServer("javascript-platforms");
  token = await createSecret(service.url, "kvc_url");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  rmSync(profile("platforms"), { recursive: true, force: true });
  server = await serve({
    folders: { vite: join(folder, "vite"), webpack: join(folder, "webpack") },
    files: {
      "/with-vite": page("/vite/page.js"),
      "/with-webpack": page("/webpack/page.js"),
      "/api/v1/projects": JSON.stringify({ projects: [{ slug: "shop" }] }),
    },
  });
});

after(async () => {
  await browser?.close();
  await server?.close();
  await service?.close();
});

for (const [name, command, args] of runtimes) {
  test(`every part of the package works, and the console shows no secret: ${name}`, () => {
    const source = sourceOf("platform.mjs", `
      ${program("console.log", "Client.fromEnv()")}
      const secret = await client.secret.get(${JSON.stringify(SHOP_URL)});
      console.log(secret.value);
      console.log(secret, ...opened.map(({ secrets }) => secrets));
    `);

    const [first, value, ...rest] = run(command, [...args, source]).split("\n");

    assert.deepEqual([first, value], [shown, "kvc_url"]);
    const text = rest.join("\n");
    assert.equal(text.match(/\[hidden\]/g)?.length, 1 + 2 * golden.secrets.length, text);
    assert.doesNotMatch(text, /kvc_/);
  });
}

test("CommonJS imports the package in the oldest supported Node.js", () => {
  const source = sourceOf("platform.cjs", `
    import("secrets-service/bundle").then(({ openBundle }) => console.log(typeof openBundle));
    try {
      require("secrets-service/bundle");
    } catch ({ code }) {
      console.log(code);
    }
  `);

  assert.equal(run(OLDEST, [source]).trim(), "ERR_REQUIRE_ESM\nfunction");
});

const require = createRequire(join(root, "tests/wasm/package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)));

async function buildWithVite(entry) {
  const { build } = await load("vite");
  const output = { entryFileNames: "page.js" };
  await build({
    root: installed,
    base: "/vite/",
    configFile: false,
    logLevel: "error",
    build: { outDir: join(folder, "vite"), rollupOptions: { input: entry, output } },
  });
}

async function buildWithWebpack(settings) {
  const { default: webpack } = await load("webpack");
  const stats = await new Promise((resolve, reject) => {
    const settled = (error, stats) => (error ? reject(error) : resolve(stats));
    webpack({ context: installed, mode: "production", performance: { hints: false }, ...settings }, settled);
  });
  assert.deepEqual(stats.toJson({ errors: true, warnings: true }).errors, []);
  assert.deepEqual(stats.toJson({ warnings: true }).warnings, []);
}

// Returns the title of a page after its script has changed the title.
async function titleOf(url) {
  browser ??= await Browser.open({ folder: profile("platforms") });
  await browser.goTo(url);
  return browser.until(() => document.title !== "loading" && document.title);
}

const page = (script) => `<!doctype html><title>loading</title><script type="module" src="${script}"></script>`;
const PAGE = `
  // The strict headers of the page refuse workers without such a policy.
  trustedTypes.createPolicy("default", { createScriptURL: (url) => url });
  ${program("((text) => (document.title = text))", "new Client(location.origin)")}
`;

test("Vite builds a page with every part of the package", async () => {
  await buildWithVite(sourceOf("page.mjs", PAGE));

  assert.equal(await titleOf(`${server.url}/with-vite`), shown);
});

// Setting of the README for older versions of Vite. The current version works with and without the
// setting.
const [, excluded] = readme.match(/`optimizeDeps: \{ exclude: (\[.+?\]) \}`/);

const developments = [
  ["without a setting", {}, true],
  ["with the setting for older versions", { exclude: JSON.parse(excluded) }, false],
];
for (const [name, optimizeDeps, isBundled] of developments) {
  test(`the development server of Vite serves a page with every part of the package: ${name}`, async () => {
    sourceOf("page.mjs", PAGE);
    sourceOf("index.html", page("/page.mjs"));
    const { createServer } = await load("vite");
    const development = await createServer({
      root: installed,
      configFile: false,
      logLevel: "error",
      cacheDir: join(folder, "vite-cache"),
      optimizeDeps,
      // The port is the first free port.
      server: { host: "127.0.0.1", watch: null, proxy: { "/api": server.url } },
    });
    try {
      await development.listen();
      const [url] = development.resolvedUrls.local;

      assert.equal(await titleOf(url), shown);
      const asked = await browser.requests();
      assert.equal(asked.some((address) => address.includes("/vite-cache/deps/secrets-service")), isBundled, asked.join());
    } finally {
      // An open page would send requests until the server starts again.
      await browser?.goTo("about:blank");
      await development.close();
    }
  });
}

test("webpack builds a page with every part of the package", async () => {
  const entry = sourceOf("page.mjs", PAGE);
  const output = { path: join(folder, "webpack"), filename: "page.js", publicPath: "/webpack/", module: true };
  await buildWithWebpack({ entry, output, target: "web", experiments: { outputModule: true } });

  assert.equal(await titleOf(`${server.url}/with-webpack`), shown);
});

test("webpack builds a program for Node.js with every part of the package", async () => {
  const entry = sourceOf("platform.mjs", program("console.log", "Client.fromEnv()"));
  const output = { path: join(folder, "webpack-node"), filename: "program.cjs" };
  await buildWithWebpack({ entry, output, target: "node18" });

  assert.equal(run(process.execPath, [join(output.path, output.filename)]).trim(), shown);
});

test("webpack builds an ES module for Node.js with every part of the package", async () => {
  const entry = sourceOf("platform.mjs", program("console.log", "Client.fromEnv()"));
  const output = { path: join(folder, "webpack-module"), filename: "program.mjs", module: true };
  // With `splitChunks`, the worker that webpack builds waits for a chunk that does not exist.
  const optimization = { splitChunks: false };
  await buildWithWebpack({ entry, output, optimization, target: "node18", experiments: { outputModule: true } });

  assert.equal(run(process.execPath, [join(output.path, output.filename)]).trim(), shown);
});

for (const [format, extension] of [["esm", "mjs"], ["cjs", "cjs"]]) {
  test(`esbuild builds a program with the client for the oldest supported Node.js: ${format}`, () => {
    const source = sourceOf("platform.mjs", `
      import { Client } from "secrets-service/client";
      Client.fromEnv().secret.get(${JSON.stringify(SHOP_URL)}).then(({ value }) => console.log(value));
    `);
    const output = join(folder, "esbuild", `program.${extension}`);
    const flags = ["--bundle", "--minify", "--platform=node", "--target=node18", `--format=${format}`, "--log-level=warning", `--outfile=${output}`];

    assert.equal(run(join(tools, ".bin/esbuild"), [source, ...flags]), "");
    assert.equal(run(OLDEST, [output]), "kvc_url\n");
  });
}
