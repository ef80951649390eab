// Measures the time to open a bundle, compared with WebCrypto decrypting as many bytes: in Node.js and,
// with --chromium, in a browser. Opening also parses, checks the signature and creates 1,000 objects.
//
//     node secrets-wasm/bench/bundle.mjs [--chromium] [--save FILE]
//
// A service in memory makes the bundle. --save keeps the bundle and prints its key, to measure other
// languages. The package is the one that the test suite installed.

import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

import { Browser } from "../../tests/browser/driver.mjs";
import { serve } from "../../tests/browser/server.mjs";
import { packed, profile } from "../tests/places.mjs";

const flags = process.argv.slice(2);

// A thousand typical secrets: each a URL with a password.
async function made() {
  const { Service } = await import(pathToFileURL(join(packed, "index.node.js")));
  const service = await Service.memory();
  const session = await service.signIn({ issuer: "bench", subject: "alice", email: "alice@example.com" });
  const { id: project } = await session.project.create({ name: "Bench" });
  const at = { project, environment: "production" };
  for (let page = 0; page < 10; page += 1) {
    const secrets = Array.from({ length: 100 }, (_, index) => ({
      key: `SERVICE_${page}_${index}_DATABASE_URL`,
      value: `postgres://service-${index}:kvc_${"x".repeat(24)}@db-${page}.internal:5432/production`,
    }));
    await session.secret.import({ ...at, secrets });
  }
  const { bundle, key } = await session.secret.bundle({ ...at, recipients: [{ type: "raw" }] });
  return { bytes: new Uint8Array(Buffer.from(bundle, "base64")), key };
}

// Returns medians in milliseconds. The function is sent to the browser as text, so it uses no outer
// names.
async function measure(openBundle, bytes, key, phrase) {
  const median = async (times, run) => {
    const took = [];
    for (let turn = 0; turn < times; turn += 1) {
      const begin = performance.now();
      await run();
      took.push(performance.now() - begin);
    }
    return took.sort((one, other) => one - other)[times >> 1];
  };
  const aes = await crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
  const cipher = { name: "AES-GCM", iv: new Uint8Array(12) };
  const sealed = await crypto.subtle.encrypt(cipher, aes, bytes);
  const { secrets } = openBundle(bytes, { key });
  const opened = await median(51, () => openBundle(bytes, { key }));
  const plain = await median(51, () => crypto.subtle.decrypt(cipher, aes, sealed));
  const bundle = Uint8Array.from(atob(phrase.bundle), (letter) => letter.charCodeAt(0));
  const derived = await median(3, () => openBundle(bundle, { passphrase: phrase.passphrase, now: phrase.now }));
  return { secrets: secrets.length, bytes: bytes.length, opened, plain, derived };
}

const vectors = JSON.parse(readFileSync(new URL("../../tests/vectors/bundle.json", import.meta.url), "utf8")).vectors;
const ours = vectors.find(({ name }) => name === "for a passphrase, with the costs of ours");
const phrase = { bundle: ours.bundle, passphrase: ours.unlock.text, now: ours.now };

function report(where, { secrets, bytes, opened, plain, derived }) {
  const round = (value) => value.toFixed(2);
  console.log(
    `${where}: ${secrets} secrets, ${bytes} bytes, open in ${round(opened)} ms; AES-256-GCM by WebCrypto ` +
      `${round(plain)} ms; Argon2id of 64 MiB, three passes, ${Math.round(derived)} ms`,
  );
}

const { bytes, key } = await made();
if (flags.includes("--save")) {
  writeFileSync(flags[flags.indexOf("--save") + 1], bytes);
  console.log(key);
}
const { openBundle } = await import(pathToFileURL(join(packed, "bundle.node.js")));
report(`Node.js ${process.versions.node}`, await measure(openBundle, bytes, key, phrase));

if (flags.includes("--chromium")) {
  const page = `<!doctype html><title>bench</title>`;
  const server = await serve({ folders: { package: packed }, files: { "/": page, "/bundle": bytes } });
  const browser = await Browser.open({ folder: profile("bench") });
  try {
    await browser.goTo(`${server.url}/`);
    const { userAgent, ...figures } = await browser.run(
      `async (key, phrase) => {
        const { openBundle } = await import("/package/bundle.js");
        const bytes = new Uint8Array(await (await fetch("/bundle")).arrayBuffer());
        return { userAgent: navigator.userAgent, ...(await (${measure})(openBundle, bytes, key, phrase)) };
      }`,
      key,
      phrase,
    );
    report(/Chrome\/[\d.]+/.exec(userAgent)[0], figures);
  } finally {
    await browser.close();
    await server.close();
  }
}
