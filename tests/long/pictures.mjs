// Takes pictures of all screens of the dashboard, and compares them with the reference pictures. Usage: see tests/long/pictures

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { crc32, deflateSync } from "node:zlib";

import { launch, open, openGrid, withoutEvents } from "../dashboard/browser.mjs";
import { caller, change, createMarks, createTeam } from "../dashboard/data.mjs";
import { DIALOGS, fill, sections } from "../dashboard/screens.mjs";
import { root, startServer, tokenOf } from "../dashboard/server.mjs";

// A pixel differs if one of its colors differs by more than this part of the range.
const MAX_COLOR = 0.08;

// Maximum part of the pixels of a picture that differ.
const MAX_PIXELS = 0.005;

// Maximum size of all references, in bytes.
const MAX_BYTES = 2_000_000;

// Time that the pages see, and the time of the newest objects.
const NOW = Date.parse("2027-01-31T14:00:00Z");
const NEWEST = NOW - 40 * 60_000;
const DAY = 86_400_000;

// Variants of each screen.
const WIDE = { width: 1100, height: 720 };
const VARIANTS = {
  light: { colorScheme: "light", size: WIDE },
  dark: { colorScheme: "dark", size: WIDE },
  narrow: { colorScheme: "light", size: { width: 320, height: 640 } },
};

const expected = join(root, "tests/long/pictures-expected");
const output = resolve(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "pictures");
const isWriting = process.argv.includes("--write");
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));

// Values of fields that differ in each run.
const FIXED = {
  token_prefix: "env_4fT9xQ2m",
  token: "env_4fT9xQ2mPq7sVw1yZ8aBc3dE",
  secret: (value) => (typeof value === "string" ? "whsec_4fT9xQ2mPq7sVw1yZ8aBc3dE" : value),
  accept_url: "https://secrets.example.com/invitations/4fT9xQ2m",
  error_message: "the host database.invalid was not found",
  ip_address: "203.0.113.9",
};

const SESSIONS = {
  sessions: [
    { id: "1", kind: "browser", client_name: null, ip_address: "203.0.113.9", current: true, created_at: new Date(NOW - 3 * 3_600_000), last_used_at: new Date(NOW), expires_at: new Date(NOW + 9 * 3_600_000) },
    { id: "2", kind: "cli", client_name: "secrets", hostname: "laptop", os: "linux", ip_address: "203.0.113.17", current: false, created_at: new Date(NOW - 5 * DAY), last_used_at: new Date(NOW - DAY), expires_at: new Date(NOW + 25 * DAY) },
  ],
};

// Replaces what differs in each run. Times of this run become fixed times: those of a list are apart, the first is the
// newest. Later times, such as those of expiry, keep their number of days.
function fixed(value, name = "", age = 0) {
  if (Array.isArray(value)) return value.map((item, place) => fixed(item, name, age + place * 5 * 3_600_000));
  if (name in FIXED) return typeof FIXED[name] === "function" ? fixed(FIXED[name](value), "", age) : value && FIXED[name];
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([field, item]) => [field, fixed(item, field, age)]));
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\dT/.test(value)) return value;
  const distance = Date.parse(value) - Date.now();
  const days = Math.round(distance / DAY);
  return new Date(days > 0 ? NOW + days * DAY : distance > 60_000 ? NOW + 20 * 60_000 : NEWEST - age).toISOString();
}

const server = await startServer("pictures");
const browser = await launch();
const alice = caller(server.url, tokenOf("alice"));
const place = await createTeam(alice, caller(server.url, tokenOf("bob")));
await fill(alice, place, "of the cluster");
await alice("POST", "/projects", { name: "Mailer", description: "Sends mail to customers", team_id: place.team });
const marks = await createMarks(alice, "Shop");

// Opens a window in which everything is fixed.
async function opened(who = "alice") {
  const options = { locale: "en-US", timezoneId: "UTC", reducedMotion: "reduce" };
  const { page, context } = await open(browser, { url: server.url, token: who && tokenOf(who), ...WIDE, options });
  await page.clock.setFixedTime(NOW);
  await context.route("**/api/v1/**", async (route) => {
    if (route.request().url().endsWith("/auth/sessions") && who) return route.fulfill({ json: SESSIONS });
    const headers = { ...route.request().headers(), ...(who && { authorization: `Bearer ${tokenOf(who)}` }) };
    const response = await route.fetch({ headers });
    const text = await response.text();
    const isJson = text && /json/.test(response.headers()["content-type"] ?? "");
    const fixedHeaders = { ...response.headers(), "x-request-id": "0199a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b" };
    return route.fulfill({ response, headers: fixedHeaders, body: isJson ? JSON.stringify(fixed(JSON.parse(text))) : text });
  });
  await withoutEvents(context);
  return page;
}

// The browser decodes and compares pictures.
const painter = await (await browser.newContext()).newPage();
await painter.evaluate(() => {
  window.pixelsOf = async (png) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
    const canvas = new OffscreenCanvas(image.width, image.height);
    canvas.getContext("2d").drawImage(image, 0, 0);
    return { canvas, pixels: canvas.getContext("2d").getImageData(0, 0, image.width, image.height) };
  };
  window.base64 = (bytes) => {
    let text = "";
    for (let start = 0; start < bytes.length; start += 30_000) text += String.fromCharCode(...bytes.subarray(start, start + 30_000));
    return btoa(text);
  };
});

// Reduces a picture to a palette of at most 256 colors, so that the file is small: frequent colors stay as they are, others
// have 12 steps for red, green and blue, or become the nearest of the palette.
const reduced = (png) =>
  painter.evaluate(async (png) => {
    const { width, height, data } = (await window.pixelsOf(png)).pixels;
    const step = 255 / 11;
    const codes = new Uint32Array(width * height).map((_, at) => (data[at * 4] << 16) | (data[at * 4 + 1] << 8) | data[at * 4 + 2]);
    const parts = (code) => [code >> 16, (code >> 8) & 255, code & 255];
    const count = (codes) => {
      const counts = new Map();
      for (const code of codes) counts.set(code, (counts.get(code) ?? 0) + 1);
      return counts;
    };
    const exact = count(codes);
    const rounded = new Map([...exact].map(([code, number]) =>
      [code, number >= codes.length / 1_000 ? code : parts(code).reduce((sum, part) => sum * 256 + Math.round(Math.round(part / step) * step), 0)]));
    codes.forEach((code, at) => (codes[at] = rounded.get(code)));
    const counts = count(codes);
    const palette = [...counts.keys()].sort((one, other) => counts.get(other) - counts.get(one) || one - other).slice(0, 256);
    const distance = (one, other) => parts(one).reduce((sum, part, place) => sum + (part - parts(other)[place]) ** 2, 0);
    const places = new Map([...counts.keys()].map((code) => {
      const known = palette.indexOf(code);
      const nearest = () => palette.reduce((best, one, place) => (distance(one, code) < distance(palette[best], code) ? place : best), 0);
      return [code, known >= 0 ? known : nearest()];
    }));
    const indexes = Uint8Array.from(codes, (code) => places.get(code));
    return { width, height, palette: palette.flatMap(parts), indexes: window.base64(indexes) };
  }, png);

// Returns a part of a PNG file.
function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type), data]);
  const [length, sum] = [data.length, crc32(body)].map((number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(number);
    return bytes;
  });
  return Buffer.concat([length, body, sum]);
}

// Returns a picture as a small PNG file with a palette.
async function small(png) {
  const { width, height, palette, indexes } = await reduced(png.toString("base64"));
  const bytes = Buffer.from(indexes, "base64");
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3], 8);
  // Each row begins with its filter: none, or the difference to the row above.
  const none = (at) => bytes[at];
  const up = (at) => (bytes[at] - (bytes[at - width] ?? 0)) & 255;
  const [content] = [none, up]
    .map((filter, type) => {
      const rows = Buffer.alloc((width + 1) * height);
      for (let row = 0; row < height; row++) {
        rows[row * (width + 1)] = type * 2;
        for (let column = 0; column < width; column++) rows[row * (width + 1) + column + 1] = filter(row * width + column);
      }
      return deflateSync(rows, { level: 9, memLevel: 9 });
    })
    .sort((one, other) => one.length - other.length);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk("IHDR", header), chunk("PLTE", Buffer.from(palette)), chunk("IDAT", content), chunk("IEND", Buffer.alloc(0))]);
}

// Compares two pictures. Returns the sizes, the part of the pixels that differ, and a picture of these.
const compared = (one, other) =>
  painter.evaluate(
    async ([pictures, most]) => {
      const [left, right] = await Promise.all(pictures.map(window.pixelsOf));
      const sizes = [left, right].map(({ pixels: { width, height } }) => `${width} x ${height}`);
      if (sizes[0] !== sizes[1]) return { sizes, part: 1 };
      let different = 0;
      const [{ data }, { data: old }] = [left.pixels, right.pixels];
      for (let at = 0; at < data.length; at += 4) {
        const isFar = [0, 1, 2].some((color) => Math.abs(data[at + color] - old[at + color]) > most * 255);
        if (!isFar) continue;
        different += 1;
        data.set([255, 0, 0, 255], at);
      }
      left.canvas.getContext("2d").putImageData(left.pixels, 0, 0);
      const bytes = new Uint8Array(await (await left.canvas.convertToBlob({ type: "image/png" })).arrayBuffer());
      return { sizes, part: (different * 4) / data.length, picture: window.base64(bytes) };
    },
    [[one, other], MAX_COLOR],
  );

const taken = new Set();
const failures = [];

// Compares a picture with its reference, or replaces the reference.
async function check(name, png) {
  assert.ok(!taken.has(name), `${name} is taken twice`);
  taken.add(name);
  const path = join(expected, `${name}.png`);
  if (isWriting) return writeFileSync(path, await small(png));
  const found = existsSync(path) ? await compared(png.toString("base64"), readFileSync(path, "base64")) : { sizes: ["new"], part: 1 };
  if (found.part <= MAX_PIXELS) return undefined;
  failures.push(`${name}: ${(found.part * 100).toFixed(2)} % of the pixels differ (${[...new Set(found.sizes)].join(", ")})`);
  writeFileSync(join(output, `${name}.png`), png);
  if (found.picture) writeFileSync(join(output, `${name}-different.png`), Buffer.from(found.picture, "base64"));
  return undefined;
}

// Takes the pictures of a screen, or only of the dialog that is open.
async function take(page, name, { isDialog = false } = {}) {
  if (wanted.length && !wanted.some((beginning) => name.startsWith(beginning))) return;
  // The pointer is over nothing that would change.
  await page.mouse.move(0, 0);
  for (const [variant, { colorScheme, size }] of Object.entries(VARIANTS)) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    // A page that is opened in a narrow window does this itself.
    await page.evaluate(() => document.querySelector(".sections [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }));
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const options = { animations: "disabled", caret: "hide" };
    const target = isDialog ? page.locator("dialog[open]") : page;
    await check(`${name}-${variant}`, await target.screenshot(options));
  }
  await page.setViewportSize(WIDE);
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
}

async function show(page, [path, content]) {
  await page.goto(server.url + path);
  await page.locator(content).first().waitFor();
}

const dialog = (page) => page.locator("dialog[open]");

// Waits until nothing is loading.
const loaded = (page) => page.waitForFunction(() => !document.querySelector(".skeleton"));

async function closed(page) {
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
}

// Sections and their dialogs.
async function takeSections() {
  const page = await opened();
  for (const [name, address] of Object.entries(sections(place))) {
    await show(page, address);
    await take(page, name);
    if (name === "rotations") {
      await page.getByText("History and webhooks").click();
      await page.locator(".webhook").waitFor();
      await take(page, "rotation-history");
    }
    if (name === "scans") {
      await page.locator("summary", { hasText: "Findings" }).first().click();
      await page.locator(".finding").first().waitFor();
      await take(page, "scan-findings");
    }
    for (const [title, button] of Object.entries(DIALOGS[name] ?? {})) {
      await page.getByRole("button", { name: button, exact: true }).click();
      await dialog(page).waitFor();
      await loaded(page);
      await take(page, `dialog-${title}`, { isDialog: true });
      await closed(page);
    }
  }
  await show(page, ["/projects", ".item"]);
  await take(page, "projects");
  await page.getByRole("button", { name: "New project" }).click();
  await dialog(page).waitFor();
  await take(page, "dialog-new-project", { isDialog: true });
  await show(page, ["/projects/none", ".state"]);
  await take(page, "not-found");
  const member = await opened("bob");
  await show(member, [`/teams/${place.team}/audit`, ".people"]);
  await take(member, "admins-only");
  const stranger = await opened("carol");
  await caller(server.url, tokenOf("carol"))("POST", "/auth/sync");
  await show(stranger, ["/projects", ".state"]);
  await take(stranger, "projects-none");
  const visitor = await opened(null);
  await show(visitor, ["/projects", ".card"]);
  await take(visitor, "signed-out");
}

// The grid and the windows over it.
async function takeGrid() {
  const page = await opened();
  await openGrid(page, server.url, marks);
  const grid = page.locator("#grid");
  const press = async (...keys) => {
    for (const key of keys) await grid.press(key);
  };
  const window = async (name, ...keys) => {
    await press(...keys);
    await dialog(page).waitFor();
    await loaded(page);
    await take(page, name, { isDialog: true });
  };
  await take(page, "grid");
  await window("legend", "?");
  await closed(page);
  await window("key-new", "n");
  await closed(page);
  await press("Control+Home", "ArrowRight");
  await window("key-edit", "e");
  await closed(page);
  await window("key-history", "h");
  await closed(page);
  await window("reveal-column", "Shift+R");
  await closed(page);
  await window("copy-to", "p");
  await closed(page);
  await window("compare", "d");
  await dialog(page).getByRole("button", { name: "Compare values" }).click();
  await dialog(page).getByText("Compared.").waitFor();
  await dialog(page).getByRole("button", { name: "Reveal API_KEY" }).click();
  await dialog(page).locator("pre").nth(1).waitFor();
  await take(page, "compare-values", { isDialog: true });
  await closed(page);
  await press("Enter");
  await page.locator("#grid .value").waitFor();
  await take(page, "grid-revealed");
  await press("Escape", "Shift+ArrowDown", "Shift+ArrowRight");
  await take(page, "grid-selected");
  await press("Escape");
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: "Mailer" }).waitFor();
  await take(page, "palette", { isDialog: true });
  await page.keyboard.type("token");
  await take(page, "palette-found", { isDialog: true });
  await closed(page);
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File(["API_KEY=kvc_1\nNEW_KEY=kvc_2\nnot a line"], ".env"));
    document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data }));
  });
  await dialog(page).waitFor();
  await take(page, "import", { isDialog: true });
  await dialog(page).getByRole("button", { name: /^Stage/ }).click();
  await dialog(page).waitFor({ state: "detached" });
  await press("Control+Home", "ArrowRight", "ArrowDown", "x");
  await take(page, "grid-staged");
  await window("review", "Control+s");
  // Another user changes the secret, so that saving is refused.
  await change(alice, marks, [{ environment: "staging", key: "API_KEY", action: "set", value: "kvc_theirs" }]);
  await dialog(page).getByRole("button", { name: /^Save/ }).click();
  await dialog(page).getByText("was changed by someone else").waitFor();
  await take(page, "review-conflict", { isDialog: true });
}

// Values that are shown once. These steps change data, so they are the last.
async function takeOnce() {
  const page = await opened();
  const all = sections(place);
  await show(page, all.tokens);
  await page.getByRole("button", { name: "Rotate: ci" }).click();
  await dialog(page).getByRole("button", { name: "Rotate" }).click();
  await dialog(page).getByRole("heading", { name: "Store the token now" }).waitFor();
  await take(page, "once-token", { isDialog: true });
  await dialog(page).getByRole("button", { name: "I have stored it" }).click();
  await show(page, all.members);
  await page.getByRole("button", { name: "Send again: carol@example.com" }).click();
  await dialog(page).getByRole("heading", { name: "Send this link" }).waitFor();
  await take(page, "once-link", { isDialog: true });
}

rmSync(output, { recursive: true, force: true });
for (const folder of [output, expected]) mkdirSync(folder, { recursive: true });
try {
  await takeSections();
  await takeGrid();
  await takeOnce();
} finally {
  await browser.close();
  await server.close();
}

const references = readdirSync(expected);
if (!wanted.length) {
  for (const file of references.filter((file) => !taken.has(file.replace(".png", "")))) {
    if (isWriting) rmSync(join(expected, file));
    else failures.push(`${file}: there is no such screen any more`);
  }
}
const bytes = readdirSync(expected).reduce((sum, file) => sum + readFileSync(join(expected, file)).length, 0);
if (bytes > MAX_BYTES) failures.push(`the references have ${bytes} bytes, more than ${MAX_BYTES}`);
console.log(`${taken.size} pictures ${isWriting ? "written" : "compared"}, ${failures.length} failed; references of ${bytes} bytes`);
console.log(failures.join("\n"));
process.exitCode = failures.length ? 1 : 0;
