// Hostile content in Chromium: more than 200 strings as names, descriptions and values, on every
// screen. The pages show them as text: no script runs, and nothing violates the content security
// policy.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { launch, open, openGrid } from "./browser.mjs";
import { caller, change, createTeam } from "./data.mjs";
import { PAYLOADS } from "./payloads.mjs";
import { startServer, tokenOf } from "./server.mjs";

let server, browser, alice, place;

// Creates an object with each string as its name. Returns the strings that the service accepts as
// names.
async function named(create) {
  const accepted = [];
  for (const text of PAYLOADS) {
    await create(text).then(() => accepted.push(text), (error) => assert.match(String(error), /: 400 /));
  }
  return accepted;
}

before(async () => {
  server = await startServer("dashboard-hostile", { SECRETS_EGRESS_ALLOW: "127.0.0.0/8" });
  alice = caller(server.url, tokenOf("alice"));
  const [worst] = PAYLOADS;
  const bob = caller(server.url, tokenOf("bob"));
  await bob("POST", "/auth/sync");
  await bob("PATCH", "/account", { name: worst });
  place = await createTeam(alice, bob, { name: worst, project: worst, description: worst });
  const { slug, team, project } = place;
  await alice("PATCH", "/account", { name: worst });
  await change(alice, slug, PAYLOADS.map((text, index) => ({ environment: "development", key: `KEY_${index}`, action: "set", value: `kvc_${text}`, description: text })));
  await alice("PUT", `/projects/${slug}/environments/development/secrets/KEY_0`, { value: "kvc_second" });
  const environments = `/projects/${slug}/environments`;
  for (const [index, text] of PAYLOADS.slice(0, 8).entries()) await alice("POST", environments, { name: `environment-${index}`, description: text });
  const projects = await named((name) => alice("POST", "/projects", { name, description: name, team_id: team }));
  const tokens = await named((name) => alice("POST", "/tokens", { name, team_id: team, project_ids: [project] }));
  assert.ok(PAYLOADS.length >= 200 && projects.length >= 200 && tokens.length >= 200, [PAYLOADS.length, projects.length, tokens.length].join());
  const findings = PAYLOADS.map((text) => ({ rule_id: "rule", description: text, path: text, severity: "high" }));
  await alice("POST", "/scans", { project_id: project, source: { type: "findings", name: worst }, findings });
  await alice("POST", `${environments}/production/rotations`, {
    name: "main-db", integration_type: "postgresql", connection_method: "direct", rotation_interval_days: 30,
    connection: { host: "database.invalid", database: worst.slice(0, 60), admin_username: "u", admin_password: "kvc_p" },
  });
  await alice("POST", `${environments}/production/rotations/main-db/webhooks`, { url: "http://127.0.0.1:9/?x=<script>hit()</script>\"onload=hit()", events: ["rotation.failed"] });
  await alice("POST", `${environments}/production/rotations/main-db/rotate`);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

// Opens a window that reports a problem if a payload runs. The window is so high that all rows are
// rendered.
async function opened(options = {}) {
  const window = await open(browser, { url: server.url, token: tokenOf("alice"), height: 9_500, ...options });
  await window.page.exposeFunction("hit", () => void window.seen.problems.push("hit"));
  window.page.on("dialog", (dialog) => {
    window.seen.problems.push(dialog.message());
    dialog.dismiss();
  });
  return window;
}

// Returns the elements and attributes that only markup in a string can have created.
const strays = (page) =>
  page.evaluate(() => {
    const inBody = [...document.body.querySelectorAll("*")];
    const isStray = (element) =>
      element.matches("script, img, image, iframe, object, embed, video, audio, style, link, meta, base, math, marquee, form[action], a[href^='javascript' i]") ||
      [...element.attributes].some(({ name }) => name.startsWith("on"));
    return inBody.filter(isStray).map(({ outerHTML }) => outerHTML.slice(0, 100));
  });

// Checks that a screen shows each string, letter by letter.
async function check(page, screen, texts) {
  assert.deepEqual(await strays(page), [], screen);
  const content = await page.evaluate(() => document.body.textContent);
  const missing = texts.filter((text) => !content.includes(text));
  assert.deepEqual(missing, [], screen);
}

const screens = () => {
  const { slug, team } = place;
  const [worst] = PAYLOADS;
  return {
    projects: ["/projects", ".item", PAYLOADS],
    environments: [`/projects/${slug}/environments`, ".entry", PAYLOADS.slice(0, 8)],
    rotations: [`/projects/${slug}/rotations`, ".entry", [worst]],
    scans: [`/projects/${slug}/scans`, ".entry", [worst]],
    tokens: [`/projects/${slug}/tokens`, ".entry", PAYLOADS],
    access: [`/projects/${slug}/access`, ".matrix", [worst]],
    audit: [`/projects/${slug}/audit`, ".record", [worst]],
    settings: [`/projects/${slug}/settings`, ".form", [worst]],
    members: [`/teams/${team}/members`, ".entry", [worst]],
    "team-tokens": [`/teams/${team}/tokens`, ".entry", PAYLOADS],
    "team-scans": [`/teams/${team}/scans`, ".entry, .state", [worst]],
    "team-audit": [`/teams/${team}/audit?limit=100`, ".record", PAYLOADS.slice(-20)],
    usage: [`/teams/${team}/usage`, ".use", [worst]],
    account: ["/account", ".subheading", [worst]],
  };
};

test("texts in sections are text", async () => {
  const { page, context, seen } = await opened();
  for (const [screen, [path, content, texts]] of Object.entries(screens())) {
    await page.goto(server.url + path);
    await page.locator(content).first().waitFor();
    await check(page, screen, texts);
  }
  await page.goto(`${server.url}/projects/${place.slug}/scans`);
  await page.locator("summary", { hasText: "Findings" }).click();
  await page.locator(".finding").first().waitFor();
  await check(page, "findings", PAYLOADS);
  await page.goto(`${server.url}/projects/${place.slug}/rotations`);
  await page.getByText("History and webhooks").click();
  await page.locator(".webhook").first().waitFor();
  await check(page, "webhooks", []);
  assert.deepEqual(seen.problems, []);
  await context.close();
});

test("texts in the grid and its windows are text", async () => {
  const { page, context, seen } = await opened();
  await openGrid(page, server.url, place.slug);
  await page.locator("[aria-label^='KEY_99, development']").waitFor();
  await check(page, "grid", PAYLOADS);
  await page.locator("#grid").press("Shift+R");
  await page.getByRole("button", { name: "Reveal", exact: true }).last().click();
  await page.locator("#grid .value").nth(200).waitFor();
  // A cell shows the beginning of a value.
  await check(page, "values", PAYLOADS.slice(1).map((text) => `kvc_${text}`.slice(0, 60)));
  await page.locator("#grid").press("Escape");
  await page.evaluate((text) => {
    const data = new DataTransfer();
    data.setData("text/plain", text);
    document.getElementById("grid").dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData: data }));
  }, PAYLOADS.filter((text) => !text.includes("'")).map((text, index) => `NEW_${index}='kvc_${text}'`).join("\n"));
  await page.getByRole("button", { name: /^Stage \d+ changes/ }).click();
  await page.locator("#grid").press("Control+s");
  const dialog = page.getByRole("dialog");
  for (const index of [0, 4, 14]) {
    await dialog.getByRole("button", { name: `Reveal NEW_${index}`, exact: true }).click();
    await dialog.locator("pre").nth(index && (index === 4 ? 1 : 2)).waitFor();
  }
  await check(page, "review", []);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.locator("#filter").fill("KEY_0");
  await page.locator("#filter").press("Enter");
  await page.locator("#grid").press("h");
  await dialog.getByRole("button", { name: "Reveal version 1 of development" }).click();
  await dialog.getByText(`kvc_${PAYLOADS[0]}`).waitFor();
  await check(page, "history", [PAYLOADS[0]]);
  assert.deepEqual(seen.problems, []);
  await context.close();
});

test("texts in addresses and dialogs are text", async () => {
  const { page, context, seen } = await opened({ height: 900 });
  const dialog = page.getByRole("dialog");
  await page.goto(`${server.url}/projects/${place.slug}/settings`);
  await page.getByRole("button", { name: "Delete project" }).click();
  await check(page, "delete", [`Delete ${PAYLOADS[0]}?`]);
  await page.goto(`${server.url}/teams/${place.team}/members`);
  await page.getByRole("button", { name: /^Remove: / }).click();
  await dialog.waitFor();
  await check(page, "remove", [`Remove ${PAYLOADS[0]} from the team?`]);
  await page.goto(`${server.url}/teams/${place.team}/tokens`);
  await page.getByRole("button", { name: `Rotate: ${PAYLOADS[4]}`, exact: true }).click();
  await dialog.waitFor();
  await check(page, "rotate", [`Rotate ${PAYLOADS[4]}?`]);
  const every = PAYLOADS.filter((_, index) => index % 20 === 0);
  for (const text of every) {
    await page.goto(`${server.url}/projects?q=${encodeURIComponent(text)}`);
    await page.getByRole("heading", { name: "Projects" }).waitFor();
    assert.equal(await page.getByLabel("Filter projects").inputValue(), text);
    await check(page, `filter ${text}`, []);
  }
  for (const text of every.slice(0, 6)) {
    const answer = await page.goto(`${server.url}/projects/${encodeURIComponent(text).replaceAll("%2F", "%252F")}`);
    // Some of the paths do not belong to a page.
    if (answer.status() !== 200) continue;
    await page.getByText("Not found").waitFor();
    await check(page, `project ${text}`, []);
  }
  await page.goto(`${server.url}/projects/${place.slug}/audit?action=${encodeURIComponent(PAYLOADS[0])}&key=${encodeURIComponent(PAYLOADS[4])}`);
  // The service refuses a filter with this action.
  await page.locator("main .state").waitFor();
  await check(page, "audit filters", []);
  assert.deepEqual(seen.problems, []);
  await context.close();
});
