// The offline viewer, opened from disk in Chromium and used as a user would.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, beforeEach, test } from "node:test";
import { pathToFileURL } from "node:url";

import { Browser } from "../../tests/browser/driver.mjs";
import { data, logs, packed, pictures, profile, program, vectorsOf, viewer } from "./places.mjs";

const { vectors } = vectorsOf("bundle.json");
const vector = (name) => vectors.find((it) => it.name === name);
const golden = vector("for a passphrase, with the costs of ours");
const ofKey = vector("golden bundle");
const ofPublicKey = vector("for a public key");

const folder = join(pictures, "bundles");
const page = pathToFileURL(viewer).href;
let browser;

// Writes a bundle to a file.
function fileOf(name, content) {
  const path = join(folder, `${name}.bundle`);
  writeFileSync(path, content);
  return path;
}

function changedByOneBit(whole) {
  const changed = Buffer.from(whole);
  changed[changed.length - 20] ^= 1;
  return changed;
}

// Runs a function with a server that has its own data folder.
async function withServer(use) {
  const folder = join(data, "viewer");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(logs, { recursive: true });
  const settings = ["dev", "--data-dir", folder, "--listen", "127.0.0.1:0"];
  const server = spawn(program, settings, { stdio: ["ignore", "pipe", openSync(join(logs, "viewer.log"), "w")] });
  const ended = once(server, "exit");
  try {
    const variables = {};
    for await (const line of createInterface({ input: server.stdout })) {
      const [, name, value] = line.match(/^export (\w+)=(.*)$/) ?? [];
      if (name) variables[name] = value;
      if (variables.SECRETS_URL && variables.SECRETS_TOKEN) break;
    }
    return await use(async (method, path, body) => {
      const headers = { authorization: `Bearer ${variables.SECRETS_TOKEN}`, "content-type": "application/json" };
      const answer = await fetch(`${variables.SECRETS_URL}/api/v1${path}`, { method, headers, body: JSON.stringify(body) });
      assert.ok(answer.ok, `${path}: ${answer.status}`);
      return answer.json();
    });
  } finally {
    server.kill();
    await ended;
  }
}

const files = {};
const passphrase = golden.unlock.text;

before(async () => {
  rmSync(profile("viewer"), { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const whole = Buffer.from(golden.bundle, "base64");
  files.whole = fileOf("production", whole);
  files.changed = fileOf("changed", changedByOneBit(whole));
  files.cut = fileOf("cut", whole.subarray(0, whole.length - 1));
  files.key = fileOf("key", Buffer.from(ofKey.bundle, "base64"));
  files.public = fileOf("public", Buffer.from(ofPublicKey.bundle, "base64"));
  files.expired = fileOf("expired", Buffer.from(vector("when it expires").bundle, "base64"));
  files.other = fileOf("other", "a letter");
  browser = await Browser.open({ folder: profile("viewer") });
  // Downloads are saved here, without a dialog.
  const downloads = join(folder, "saved");
  rmSync(downloads, { recursive: true, force: true });
  mkdirSync(downloads);
  await browser.devTools("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: downloads });
});

after(() => browser?.close());

beforeEach(() => browser.goTo(page));

const text = (id) => browser.run((id) => document.getElementById(id).innerText, id);
const focused = () => browser.run(() => document.activeElement.id || document.activeElement.getAttribute("aria-label"));

async function open(file, secret, signer) {
  await browser.choose("#file", file);
  await browser.click("#secret");
  await browser.type(secret);
  if (signer) {
    await browser.run(() => { document.getElementById("signing").open = true; });
    await browser.click("#signer");
    await browser.type(signer);
  }
  await browser.click("#open");
}

const opened = () => browser.until(() => !document.getElementById("opened").hidden);
const problem = async () => {
  await browser.until(() => !document.getElementById("problem").hidden);
  return text("problem-title");
};

test("a bundle opens with its passphrase, and values are there when asked for", async () => {
  await browser.screenshot(join(pictures, "1-empty.png"));

  await open(files.whole, passphrase);
  await browser.screenshot(join(pictures, "2-opening.png"));
  await opened();

  await browser.screenshot(join(pictures, "3-opened.png"));
  assert.equal(await focused(), "title");
  const markup = await browser.run(() => document.documentElement.outerHTML);
  assert.ok(!markup.includes("kvc_"), "a value stands in the page before it was asked for");
  assert.equal(await text("title"), `${golden.secrets.length} secrets`);
  await browser.click(".secrets li:nth-child(2) button");
  assert.equal(await browser.run(() => document.querySelector(".secrets li:nth-child(2) .value").innerText), "kvc_b");
  await browser.screenshot(join(pictures, "4-shown.png"));
});

test("a bundle that the service makes opens, and keys are found in it", async () => {
  const { Service } = await import(pathToFileURL(join(packed, "index.node.js")));
  const session = await (await Service.memory()).signIn({ issuer: "tests", subject: "alice", email: "alice@example.com" });
  const { slug: project } = await session.project.create({ name: "Shop" });
  const at = { project, environment: "production" };
  const names = ["API_URL", "DATABASE_URL", "MAIL_PASSWORD", "PAYMENT_KEY", "REDIS_URL", "SEARCH_KEY", "SENTRY_DSN", "SESSION_SECRET", "TLS_CERTIFICATE"];
  const secrets = names.map((key, index) => ({ key, value: `kvc_${key}${"\nand another line".repeat(index % 3)}`, description: `What ${key} is for` }));
  await session.secret.import({ ...at, secrets });
  const recipients = [{ type: "passphrase", passphrase: "kvc a long enough passphrase" }];
  const made = await session.secret.bundle({ ...at, recipients, expires_in_seconds: 3600 });

  await open(fileOf("made", Buffer.from(made.bundle, "base64")), "kvc a long enough passphrase", made.signer);
  await opened();

  assert.equal(await text("title"), "9 secrets");
  assert.match(await text("facts"), /valid, by the signer you named/);
  await browser.click("#show-all");
  const shown = await browser.run(() => [...document.querySelectorAll(".value")].map((it) => it.innerText));
  assert.deepEqual(shown, secrets.map(({ value }) => value));
  await browser.screenshot(join(pictures, "10-made.png"), { whole: true });
  await browser.click("#filter");
  await browser.type("key");
  const left = await browser.run(() => [...document.querySelectorAll(".secrets li")].filter((it) => it.checkVisibility()).map((it) => it.querySelector(".key").innerText));
  assert.deepEqual(left, ["PAYMENT_KEY", "SEARCH_KEY"]);
  assert.equal(await text("status"), "2 of 9 keys");
  await browser.screenshot(join(pictures, "11-found.png"));
});

test("a bundle of a server opens with its passphrase, and a changed bit is reported", async () => {
  const secret = "kvc a passphrase for the server";
  const made = await withServer(async (ask) => {
    await ask("POST", "/projects", { name: "Web API" });
    const at = "/projects/web-api/environments/production/secrets";
    await ask("POST", at, { key: "DATABASE_URL", value: "kvc_postgres://db" });
    return ask("POST", `${at}/bundle`, { recipients: [{ type: "passphrase", passphrase: secret }] });
  });
  const whole = Buffer.from(made.bundle, "base64");

  await open(fileOf("server", whole), secret, made.signer);
  await opened();
  await browser.click(".secrets li button");
  assert.equal(await browser.run(() => document.querySelector(".secrets .value").innerText), "kvc_postgres://db");
  await browser.screenshot(join(pictures, "12-server.png"));

  await browser.goTo(page);
  await open(fileOf("server-changed", changedByOneBit(whole)), secret, made.signer);
  assert.equal(await problem(), "This file was changed after it was sealed.");
  await browser.screenshot(join(pictures, "13-server-changed.png"));
});

test("a file with a changed bit is reported", async () => {
  await open(files.changed, passphrase);

  assert.equal(await problem(), "This file was changed after it was sealed.");
  await browser.screenshot(join(pictures, "5-changed.png"));
  assert.equal(await browser.run(() => document.getElementById("opened").hidden), true);
});

test("a wrong passphrase is reported, and another can be typed at once", async () => {
  await open(files.whole, "not the passphrase of it");

  assert.equal(await problem(), "This passphrase does not open the bundle.");
  await browser.screenshot(join(pictures, "6-wrong.png"));
  assert.equal(await focused(), "secret");
});

const refusals = [
  ["a file that was cut", () => files.cut, () => passphrase, undefined, "This file was changed after it was sealed."],
  ["a file of another kind", () => files.other, () => passphrase, undefined, "This file is not a complete bundle."],
  ["a bundle that expired", () => files.expired, () => vector("when it expires").unlock.text, undefined, "This bundle has expired."],
  ["a passphrase that is too short", () => files.whole, () => "short", undefined, "This is not a passphrase of a bundle."],
  ["a key with a typing error", () => files.key, () => `${ofKey.unlock.text.slice(0, -1)}0`, undefined, "This key is not valid."],
  ["a key of another bundle", () => files.whole, () => ofKey.unlock.text, undefined, "This key does not open the bundle."],
  ["a public key", () => files.public, () => "scbp_An9qHSnw9Uj6sfHJlA7sTPM6pviL1xhNrH2pmhGcXvn07oM4H", undefined, "This cannot open a bundle."],
  ["a private key without a signer", () => files.public, () => ofPublicKey.unlock.text, undefined, "The signer is required."],
  ["a signer that is none", () => files.whole, () => passphrase, "scbs_nobody", "This is not a signer."],
];
for (const [name, file, secret, signer, message] of refusals) {
  test(`errors have clear messages: ${name}`, async () => {
    await open(file(), secret(), signer);

    assert.equal(await problem(), message);
  });
}

test("a bundle of another signer is refused", async () => {
  await open(files.public, ofPublicKey.unlock.text, "scbs_vmf8KCZgcas3iUvXRwnR23xY3zLEKohyxuGqxxN9lw93JgzNq");
  await opened();
  assert.match(await text("facts"), /by the signer you named/);

  await browser.goTo(page);
  const other = vectors.find((it) => it.error === "untrusted" && it.signer && it.bundle);
  await open(fileOf("other-signer", Buffer.from(other.bundle, "base64")), other.unlock.text, other.signer);
  assert.equal(await problem(), "This bundle has another signer.");
});

test("everything can be done with the keyboard", async () => {
  await browser.press("Tab");
  assert.equal(await focused(), "file");
  // Replaces the file dialog, which Enter opens.
  await browser.choose("#file", files.key);
  await browser.press("Tab");
  assert.equal(await focused(), "secret");
  await browser.type(ofKey.unlock.text);
  assert.match(await text("secret-hint"), /key of a bundle/);
  await browser.press("Enter");
  await opened();

  assert.equal(await focused(), "title");
  await browser.press("Tab");
  assert.equal(await focused(), "show-all");
  for (const next of ["format", "download", "lock"]) {
    await browser.press("Tab");
    assert.equal(await focused(), next);
  }
  await browser.press("Tab", "Space");
  assert.equal(await focused(), "Show the value of A");
  assert.equal(await browser.run(() => document.querySelector(".secrets .value").innerText), "kvc_a");
  await browser.press("Tab");
  assert.equal(await focused(), "Copy the value of A");
  await browser.press("Shift+Tab", "Shift+Tab", "Enter");
  await browser.until(() => !document.getElementById("form").hidden);
  assert.equal(await text("status"), "Locked. The values were removed.");
  const markup = await browser.run(() => document.documentElement.outerHTML);
  assert.ok(!markup.includes("kvc_"), "a value is still there");
  await browser.press("Tab");
  assert.equal(await focused(), "file");
});

test("a value is copied", async () => {
  await browser.devTools("Browser.grantPermissions", { permissions: ["clipboardReadWrite", "clipboardSanitizedWrite"] });
  await open(files.key, ofKey.unlock.text);
  await opened();

  await browser.click(".secrets li:nth-child(2) button[aria-label^=Copy]");

  await browser.until(() => document.getElementById("status").innerText === "Copied the value of B.");
  assert.equal(await browser.run(() => navigator.clipboard.readText()), "kvc_b");
});

test("secrets are saved in a format, and values that it cannot represent are reported", async () => {
  const saved = join(folder, "saved");
  await open(files.key, ofKey.unlock.text);
  await opened();

  await browser.click("#download");

  await browser.until(() => !document.getElementById("unfit").hidden);
  assert.match(await text("unfit-text"), /_c\.d-e/);
  await browser.screenshot(join(pictures, "7-unfit.png"));
  await browser.run(() => { document.getElementById("format").value = "json"; });
  await browser.click("#download");
  await browser.until(() => document.getElementById("status").innerText.startsWith("Saved as secrets.json"));
  for (let tries = 0; tries < 100 && !readdirSync(saved).includes("secrets.json"); tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.deepEqual(JSON.parse(readFileSync(join(saved, "secrets.json"), "utf8")), { A: "kvc_a", B: "kvc_b", "_c.d-e": "" });
});

test("a bundle is dropped anywhere on the page", async () => {
  const dropped = [...readFileSync(files.key)];

  await browser.run((bytes) => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(bytes)], "dropped.bundle"));
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
  }, dropped);

  await browser.until(() => document.getElementById("file-hint").innerText.startsWith("dropped.bundle"));
  await browser.click("#secret");
  await browser.type(ofKey.unlock.text);
  await browser.press("Enter");
  await opened();
});

test("the page responds while a key is derived from a passphrase, which can be cancelled", async () => {
  await browser.choose("#file", files.whole);
  await browser.click("#secret");
  await browser.type(passphrase);
  // Measures the longest time for which the page was blocked.
  await browser.run(() => {
    window.longest = 0;
    let last = performance.now();
    const look = () => {
      const now = performance.now();
      window.longest = Math.max(window.longest, now - last);
      last = now;
      if (document.getElementById("opened").hidden) setTimeout(look, 5);
    };
    look();
    window.began = performance.now();
    document.getElementById("open").click();
  });
  assert.equal(await text("open"), "Opening…");
  await opened();
  const { longest, took } = await browser.run(() => ({ longest, took: performance.now() - began }));
  console.log(`# opened with a passphrase in ${Math.round(took)} ms; the page stood still for ${Math.round(longest)} ms at most`);
  assert.ok(longest < took / 2, `the page stood still for ${longest} of ${took} ms`);

  await browser.goTo(page);
  await open(files.whole, passphrase);
  await browser.click("#cancel");
  await browser.until(() => document.getElementById("open").innerText === "Open");
  assert.equal(await focused(), "open");
  assert.equal(await browser.run(() => document.getElementById("problem").hidden), true);
});

test("every element has a role and a name", async () => {
  const roles = ["button", "textbox", "combobox", "searchbox", "heading", "list", "DisclosureTriangle", "RootWebArea"];
  const nameless = async () => (await browser.accessible()).filter(({ role, name }) => roles.includes(role) && !name.trim());
  assert.deepEqual(await nameless(), []);
  const before = await browser.accessible();
  assert.ok(before.some(({ role, name }) => role === "heading" && name === "Open a bundle"));
  assert.ok(before.some(({ role, name }) => role === "textbox" && name === "Passphrase or key"));
  assert.ok(before.some(({ role, name }) => /button|file/i.test(role) && name.includes("Choose a file")));
  assert.ok(before.some(({ role }) => role === "status"), "no live region");

  await open(files.key, ofKey.unlock.text);
  await opened();
  const after = await browser.accessible();
  assert.deepEqual(await nameless(), []);
  for (const name of ["Show the value of A", "Copy the value of A", "Show all values", "Lock"]) {
    assert.ok(after.some((it) => it.role === "button" && it.name === name), name);
  }
  assert.ok(after.some(({ role, name }) => role === "list" && name === "Secrets"));
  assert.ok(after.some(({ role, name }) => role === "combobox" && name === "Format to download"));

  await browser.goTo(page);
  await open(files.key, "not the key of it");
  await problem();
  const refused = await browser.accessible();
  assert.ok(refused.some(({ role }) => role === "alert"), "nothing is announced");
});

// Contrast ratio of two colours, as defined by WCAG 2.
const contrasts = () => {
  const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const part = (value) => ((value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = (element) => {
    for (let it = element; it; it = it.parentElement) {
      const [r, g, b, alpha = 1] = channels(getComputedStyle(it).backgroundColor);
      if (alpha === 1) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const element of document.querySelectorAll("body *")) {
    const isText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!isText || !element.checkVisibility?.() || element.closest(".unseen")) continue;
    const [one, two] = [luminance(channels(getComputedStyle(element).color)), luminance(behind(element))];
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    if (ratio < 4.5) low.push(`${element.tagName} ${element.innerText.slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return low;
};

for (const scheme of ["light", "dark"]) {
  test(`texts have enough contrast, and the page fits 320 pixels: ${scheme}`, async () => {
    await browser.prefer({ "color-scheme": scheme });
    try {
      await browser.goTo(page);
      assert.deepEqual(await browser.run(contrasts), []);
      await open(files.key, "not the key of it");
      await problem();
      assert.deepEqual(await browser.run(contrasts), []);
      await browser.goTo(page);
      await open(files.key, ofKey.unlock.text);
      await opened();
      assert.deepEqual(await browser.run(contrasts), []);
      await browser.click("#show-all");
      await browser.screenshot(join(pictures, `8-${scheme}.png`));

      await browser.resize(320, 640);
      const wide = await browser.run(() => document.documentElement.scrollWidth);
      await browser.screenshot(join(pictures, `9-${scheme}-320.png`), { whole: true });
      assert.ok(wide <= 320, `${wide} pixels wide`);
      await browser.click("#lock");
      await browser.screenshot(join(pictures, `9-${scheme}-320-empty.png`), { whole: true });
      assert.ok((await browser.run(() => document.documentElement.scrollWidth)) <= 320);
    } finally {
      await browser.resize(1000, 800);
      await browser.prefer({ "color-scheme": "light" });
    }
  });
}

test("the page sends no requests, and its policy forbids them", async () => {
  await browser.requests();
  await browser.goTo(page);
  await open(files.key, ofKey.unlock.text);
  await opened();
  await browser.run(() => { document.getElementById("format").value = "json"; });
  await browser.click("#download");
  await browser.until(() => document.getElementById("status").innerText.startsWith("Saved"));

  const asked = await browser.requests();
  assert.deepEqual(asked.filter((url) => !/^(file|blob|data):/.test(url)), []);
  assert.deepEqual(await browser.complaints(), []);
  const refused = await browser.run(async () => {
    const violated = new Promise((resolve) => addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective), { once: true }));
    const failed = await fetch("http://127.0.0.1:9/").then(() => "reached", () => "failed");
    return [failed, await violated];
  });
  assert.deepEqual(refused, ["failed", "connect-src"]);
  await browser.complaints();
});
