// All sections in Chromium: accessibility, hostile names, and screenshots.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { SIZES, launch, look, open } from "./browser.mjs";
import { caller, change, createTeam } from "./data.mjs";
import { startServer, tokenOf } from "./server.mjs";

let server, browser, alice, place;

// Creates objects of each kind in a team, so that no section is empty.
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
  await call("POST", `${environments}/production/rotations/main-db/webhooks`, { url: "https://hooks.example.com/a", events: ["rotation.failed"] });
  const findings = [
    { rule_id: "github-pat", description: `Token of GitHub ${word}`, path: "deploy.sh", line: 4, severity: "high" },
    { rule_id: "generic", description: "High entropy", path: "src/config.js", line: 120, severity: "low" },
  ];
  await call("POST", "/scans", { project_id: project, source: { type: "findings", name: `commit ${word}`, commit: "3f2a1c" }, findings });
}

before(async () => {
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
  scans: [`/projects/${slug}/scans`, ".entry"],
  settings: [`/projects/${slug}/settings`, ".form"],
  members: [`/teams/${team}/members`, ".entry"],
  "team-tokens": [`/teams/${team}/tokens`, ".entry"],
  "team-audit": [`/teams/${team}/audit`, ".record"],
  "team-scans": [`/teams/${team}/scans`, ".entry"],
  usage: [`/teams/${team}/usage`, ".use"],
  account: ["/account", ".entry"],
});

// Dialogs of each section, by the button that opens them.
const DIALOGS = {
  environments: { "new-environment": "New environment", "edit-environment": "Edit: preview", "delete-parent": "Delete: preview", "delete-environment": "Delete: qa" },
  rotations: {
    "new-rotation": "New rotation", "rotate-now": "Rotate now: main-db", interval: "Change interval: main-db", "delete-rotation": "Delete: main-db",
    "new-webhook": "Add webhook", deliveries: "Deliveries: https://hooks.example.com/a", "delete-webhook": "Delete: https://hooks.example.com/a",
  },
  scans: { "new-scan": "Scan a text", "delete-scan": "Delete: commit of the cluster" },
  tokens: { "new-token": "New token", rotate: "Rotate: ci", revoke: "Revoke: ci" },
  settings: { "delete-project": "Delete project" },
  members: { invite: "Invite", role: "Change role: bob", remove: "Remove: bob", "revoke-invitation": "Revoke: carol@example.com" },
  account: { "delete-account": "Delete account" },
};

async function show(page, [path, content]) {
  await page.goto(server.url + path);
  await page.locator(content).first().waitFor();
}

for (const [name, size] of Object.entries(SIZES)) {
  test(`axe finds nothing: ${name}`, async () => {
    const { page, context, seen } = await opened(size);
    const dialog = page.getByRole("dialog");
    for (const [section, address] of Object.entries(sections(place))) {
      await show(page, address);
      await look(page, section);
      if (section === "rotations") {
        await page.getByText("History and webhooks").click();
        await page.locator(".webhook").waitFor();
        await look(page, "rotation-history");
      }
      if (section === "scans") {
        await page.locator("summary", { hasText: "Findings" }).first().click();
        await page.locator(".finding").first().waitFor();
        await look(page, "findings");
      }
      for (const [title, button] of Object.entries(DIALOGS[section] ?? {})) {
        await page.getByRole("button", { name: button, exact: true }).click();
        await dialog.waitFor();
        await look(page, `dialog-${title}`);
        await page.keyboard.press("Escape");
        await dialog.waitFor({ state: "detached" });
      }
    }
    assert.deepEqual(seen.problems, []);
    await context.close();
  });
}

test("axe finds nothing in dialogs that show a value once, and in that of a file", async () => {
  const { page, context, seen } = await opened();
  const dialog = page.getByRole("dialog");
  const all = sections(place);
  await show(page, all.tokens);
  await page.getByRole("button", { name: "Rotate: ci" }).click();
  await dialog.getByRole("button", { name: "Rotate" }).click();
  await dialog.getByRole("heading", { name: "Store the token now" }).waitFor();
  await look(page, "dialog-token");
  await show(page, all.rotations);
  await page.getByText("History and webhooks").click();
  await page.getByRole("button", { name: "Add webhook" }).click();
  await dialog.getByLabel("URL").fill("https://hooks.example.com/b");
  await dialog.getByRole("button", { name: "Add webhook" }).click();
  await dialog.getByRole("heading", { name: "Store the signing secret now" }).waitFor();
  await look(page, "dialog-signing-secret");
  await show(page, all.members);
  await page.getByRole("button", { name: "Send again: carol@example.com" }).click();
  await dialog.getByRole("heading", { name: "Send this link" }).waitFor();
  await look(page, "dialog-link");
  await show(page, ["/projects", ".item"]);
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File(["A=kvc_1"], ".env"));
    document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data }));
  });
  await dialog.getByText("The variables of .env").waitFor();
  await look(page, "dialog-file");
  assert.deepEqual(seen.problems, []);
  await context.close();
});

test("users without access to a section see who has access", async () => {
  const { page, context } = await opened({ token: tokenOf("bob") });
  await show(page, [`/teams/${place.team}/audit`, ".people"]);
  await look(page, "member-audit");
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
