// All sections in Chromium: accessibility, hostile names, and pictures.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { findings, launch, open } from "./browser.mjs";
import { caller, change, createTeam } from "./data.mjs";
import { pictures, startServer, tokenOf } from "./server.mjs";

let server, browser, alice, place;

const HOSTILE = {
  name: "<img src=x onerror=alert(1)>",
  project: "<script>alert(1)</script>",
  description: "\"><svg onload=alert(1)>",
};

// Fills a team, so that each section has something to show.
async function fill(call, { team, slug, project }, word) {
  const environments = `/projects/${slug}/environments`;
  const { id } = await call("POST", environments, { name: "preview", inherits_from: "production", description: word });
  await call("POST", environments, { name: "qa", inherits_from: id });
  await change(call, slug, [
    ...["development", "staging", "production"].map((environment) => ({ environment, key: "API_KEY", action: "set", value: "kvc_one" })),
    { environment: "development", key: "DEBUG", action: "set", value: "kvc_on", description: word },
  ]);
  for (const environment of ["production", "staging"]) await call("GET", `${environments}/${environment}/secrets/API_KEY`);
  const token = { team_id: team, project_ids: [project] };
  await call("POST", "/tokens", { ...token, name: `cluster ${word}`, expires_in_days: 9, ip_allowlist: ["203.0.113.0/24"] });
  await call("POST", "/tokens", { ...token, name: "ci", environments: ["staging"], permissions: ["read", "write"] });
  await call("POST", `/teams/${team}/members`, { email: "carol@example.com" });
  await call("POST", `${environments}/production/rotations`, {
    name: "main-db", integration_type: "postgresql", connection_method: "direct", rotation_interval_days: 30,
    connection: { host: "database.invalid", database: "d", admin_username: "u", admin_password: "kvc_p" },
  });
  await call("POST", `${environments}/production/rotations/main-db/rotate`);
}

before(async () => {
  mkdirSync(pictures, { recursive: true });
  server = await startServer("dashboard-looks");
  alice = caller(server.url, tokenOf("alice"));
  place = await createTeam(alice, caller(server.url, tokenOf("bob")));
  await fill(alice, place, "of the cluster");
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

const opened = (options = {}) => open(browser, { url: server.url, token: tokenOf("alice"), ...options });

const sections = ({ slug, team }) => ({
  environments: [`/projects/${slug}/environments`, ".entry"],
  rotations: [`/projects/${slug}/rotations`, ".entry"],
  tokens: [`/projects/${slug}/tokens`, ".entry"],
  access: [`/projects/${slug}/access`, ".matrix"],
  audit: [`/projects/${slug}/audit`, ".record"],
  members: [`/teams/${team}/members`, ".entry"],
  "team-tokens": [`/teams/${team}/tokens`, ".entry"],
  "team-audit": [`/teams/${team}/audit`, ".record"],
  usage: [`/teams/${team}/usage`, ".use"],
});

// Dialogs, by the section and the button that opens them.
const DIALOGS = {
  "new-token": ["tokens", "New token"],
  rotate: ["tokens", "Rotate: ci"],
  revoke: ["tokens", "Revoke: ci"],
  "new-environment": ["environments", "New environment"],
  heirs: ["environments", "Delete: preview"],
  "delete-environment": ["environments", "Delete: qa"],
  "new-rotation": ["rotations", "New rotation"],
  invite: ["members", "Invite"],
};

async function show(page, [path, content]) {
  await page.goto(server.url + path);
  await page.locator(content).first().waitFor();
}

async function look(page, name, options) {
  assert.deepEqual(await findings(page), [], name);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, `${name} scrolls sideways`);
  await page.screenshot({ path: join(pictures, `${name}-${options}.png`) });
}

for (const [name, options] of Object.entries({
  light: {},
  dark: { scheme: "dark" },
  narrow: { width: 320, height: 640 },
  forced: { forced: "active" },
})) {
  test(`axe finds nothing: ${name}`, async () => {
    const { page, context, seen } = await opened(options);
    const all = sections(place);
    for (const [section, address] of Object.entries(all)) {
      await show(page, address);
      await look(page, section, name);
    }
    await show(page, all.rotations);
    await page.getByText("History and webhooks").click();
    await page.getByRole("heading", { name: "Webhooks" }).waitFor();
    await look(page, "rotation-history", name);
    for (const [dialog, [section, button]] of Object.entries(DIALOGS)) {
      await show(page, all[section]);
      await page.getByRole("button", { name: button, exact: true }).click();
      await page.getByRole("dialog").waitFor();
      await look(page, `dialog-${dialog}`, name);
    }
    assert.deepEqual(seen.problems, []);
    await context.close();
  });
}

test("users without access to a section see who has access", async () => {
  const { page, context } = await opened({ token: tokenOf("bob") });
  await show(page, [`/teams/${place.team}/audit`, ".people"]);
  await look(page, "member-audit", "light");
  await context.close();
});

test("names and descriptions of scripts run nothing in any section", async () => {
  const hostile = await createTeam(alice, caller(server.url, tokenOf("mallory")), HOSTILE);
  await fill(alice, hostile, HOSTILE.description);
  const { page, context, seen } = await opened();
  page.on("dialog", (dialog) => seen.problems.push(dialog.message()));
  for (const [section, address] of Object.entries(sections(hostile))) {
    await show(page, address);
    assert.equal(await page.locator("#dashboard :is(script, img, iframe, svg[onload])").count(), 0, section);
  }
  await page.getByText(HOSTILE.name).first().waitFor();
  assert.deepEqual(seen.problems, []);
  await context.close();
});

test("everything in a section is reached with the Tab key", async () => {
  const { page, context } = await opened();
  await show(page, sections(place).tokens);
  const reached = new Set();
  const controls = await page.locator("main button").count();
  for (let presses = 0; presses < 60 && reached.size < controls; presses++) {
    await page.keyboard.press("Tab");
    const label = await page.evaluate(() => document.activeElement.closest("main button") && (document.activeElement.ariaLabel ?? document.activeElement.textContent.trim()));
    if (label) reached.add(label);
  }
  assert.equal(reached.size, controls);
  await context.close();
});
