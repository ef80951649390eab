// Settings in Chromium: projects, environments, rotations, webhooks, scans, invitations and the account.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, afterEach, before, test } from "node:test";

import { closeAll, launch, open } from "./browser.mjs";
import { caller, change, createTeam } from "./data.mjs";
import { startServer, tokenOf } from "./server.mjs";

let server, browser, alice, bob, place, receiver;
const windows = [];
const received = [];

before(async () => {
  // Receives webhooks.
  receiver = createServer((request, response) => {
    request.resume();
    received.push(request.headers["webhook-id"]);
    response.writeHead(received.length === 1 ? 202 : 204).end();
  });
  await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  server = await startServer("dashboard-manage", { SECRETS_EGRESS_ALLOW: "127.0.0.0/8" });
  [alice, bob] = ["alice", "bob"].map((name) => caller(server.url, tokenOf(name)));
  place = await createTeam(alice, bob);
  browser = await launch();
});

afterEach(() => closeAll(windows));

after(async () => {
  await browser?.close();
  await server?.close();
  receiver?.close();
});

// Opens a page as one user, and waits for its heading.
async function opened(path, title, who = "alice") {
  const window = await open(browser, { url: server.url, token: tokenOf(who) });
  windows.push(window);
  await window.page.goto(server.url + path);
  await window.page.getByRole("heading", { name: title, exact: true }).first().waitFor();
  return window;
}

const project = () => alice("GET", `/projects/${place.slug}`);

test("a project gets another name and description, and its address stays", async () => {
  const { page } = await opened(`/projects/${place.slug}/settings`, "Settings");
  const save = page.getByRole("button", { name: "Save", exact: true });
  assert.equal(await save.isDisabled(), true);
  await page.getByLabel("Name").fill("\u0001");
  await save.click();
  await page.locator(".field .bad").waitFor();
  await page.getByLabel("Name").fill("Front API");
  await page.getByLabel("Description").fill("What customers use");
  await save.click();
  await page.getByText("The settings are saved.").waitFor();
  const { name, description, slug } = await project();
  assert.deepEqual([name, description, slug], ["Front API", "What customers use", place.slug]);
  await page.locator(".bar .place").getByText("Front API").waitFor();
  await alice("PATCH", `/projects/${place.slug}`, { name: "Web API" });

  const { page: other } = await opened(`/projects/${place.slug}/settings`, "Settings", "bob");
  await other.getByText("alice@example.com").waitFor();
  assert.equal(await other.getByRole("main").getByRole("button").count(), 0);
});

test("settings that are saved do not revert what another user has changed meanwhile", async () => {
  const { page } = await opened(`/projects/${place.slug}/settings`, "Settings");
  await alice("PATCH", `/projects/${place.slug}`, { name: "Customer API" });
  await page.getByLabel("Description").fill("For customers only");
  const sent = page.waitForRequest((request) => request.method() === "PATCH");

  await page.getByRole("button", { name: "Save", exact: true }).click();

  assert.deepEqual((await sent).postDataJSON(), { description: "For customers only" });
  await page.locator(".bar .place").getByText("Customer API").waitFor();
  assert.equal(await page.getByLabel("Name").inputValue(), "Customer API");
  const { name, description } = await project();
  assert.deepEqual([name, description], ["Customer API", "For customers only"]);
  await alice("PATCH", `/projects/${place.slug}`, { name: "Web API" });
});

test("a project is deleted by its name, and restored from the page of the team", async () => {
  const { slug, id } = await alice("POST", "/projects", { name: "Short lived", team_id: place.team });
  await change(alice, slug, [{ environment: "staging", key: "KEPT", action: "set", value: "kvc_kept" }]);
  const { page } = await opened(`/projects/${slug}/settings`, "Settings");
  await page.getByRole("button", { name: "Delete project" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete Short lived?" });
  const confirm = dialog.getByRole("button", { name: "Delete project" });
  await dialog.getByLabel("Type Short lived to confirm").fill("short lived");
  assert.equal(await confirm.isDisabled(), true);
  await dialog.getByLabel("Type Short lived to confirm").fill("Short lived");
  await confirm.click();
  await page.getByText("Deleted Short lived.").waitFor();
  await page.getByRole("heading", { name: "Projects" }).waitFor();
  await assert.rejects(alice("GET", `/projects/${slug}`), /404/);

  const { page: usage } = await opened(`/teams/${place.team}/usage`, "Usage");
  await usage.getByRole("heading", { name: "Deleted projects" }).waitFor();
  await usage.getByRole("button", { name: "Restore: Short lived" }).click();
  await usage.getByText("Restored Short lived.").waitFor();
  await usage.getByRole("heading", { name: "Deleted projects" }).waitFor({ state: "detached" });
  assert.equal((await alice("GET", `/projects/${id}/environments/staging/secrets/KEPT`)).secret.value, "kvc_kept");
  const { page: member } = await opened(`/teams/${place.team}/usage`, "Usage", "bob");
  await member.locator(".use").first().waitFor();
  await alice("DELETE", `/projects/${id}`);
  await member.reload();
  await member.locator(".use").first().waitFor();
  assert.equal(await member.getByRole("heading", { name: "Deleted projects" }).count(), 0);
});

test("an environment is renamed, and gets a parent after its effect was named", async () => {
  const { slug } = await alice("POST", "/projects", { name: "Chains", team_id: place.team });
  const all = (key, environments) => environments.map((environment) => ({ environment, key, action: "set", value: `kvc_${environment}` }));
  await change(alice, slug, [...all("BOTH", ["staging", "production"]), ...all("OLD", ["staging"]), ...all("NEW", ["production"])]);
  await alice("POST", `/projects/${slug}/environments`, { name: "preview", inherits_from: "staging" });
  await alice("POST", `/projects/${slug}/environments`, { name: "qa", inherits_from: "preview" });
  const { page } = await opened(`/projects/${slug}/environments`, "Environments");
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Edit: preview" }).click();
  const parents = await dialog.getByLabel("Inherits from").locator("option").allTextContents();
  // The list contains neither the environment itself nor an environment that inherits from it.
  assert.deepEqual(parents, ["nothing", "development", "staging", "production"]);
  await dialog.getByLabel("Inherits from").selectOption("production");
  await dialog.getByText("Newly inherited: NEW").waitFor();
  await dialog.getByText("Inherited from another environment: BOTH").waitFor();
  await dialog.getByText("No longer inherited: OLD").waitFor();
  await dialog.getByLabel("Name").fill("review");
  await dialog.getByLabel("Description").fill("For every branch");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("Changed review.").waitFor();
  const { environments } = await alice("GET", `/projects/${slug}`);
  const [review, production] = ["review", "production"].map((name) => environments.find((one) => one.name === name));
  assert.deepEqual([review.inherits_from, review.description], [production.id, "For every branch"]);
  assert.equal((await alice("GET", `/projects/${slug}/environments/review/secrets/BOTH`)).secret.value, "kvc_production");
  // Waits until the list is loaded again, because its rows get another order.
  await page.getByRole("button", { name: "Edit: review" }).waitFor();
  // A default environment keeps its name.
  await page.getByRole("button", { name: "Edit: production" }).click();
  assert.equal(await dialog.getByLabel("Name").isEditable(), false);
  await page.keyboard.press("Escape");
  // The service refuses a name that the form cannot check.
  await page.getByRole("button", { name: "Edit: qa" }).click();
  await dialog.getByLabel("Name").fill("review");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.locator(".field .bad").waitFor();
});

test("an invitation is sent again, with a new link", async () => {
  await alice("POST", `/teams/${place.team}/members`, { email: "carol@example.com" });
  const { page } = await opened(`/teams/${place.team}/members`, "Members");
  const link = async () => (await alice("GET", `/teams/${place.team}/invitations`))[0].accept_url;
  const before = await link();
  await page.getByRole("button", { name: "Send again: carol@example.com" }).click();
  const dialog = page.getByRole("dialog", { name: "Send this link" });
  const shown = await dialog.getByLabel("Link").inputValue();
  assert.equal(shown, await link());
  assert.notEqual(shown, before);
  await dialog.getByRole("button", { name: "Done" }).click();
  // The service refuses to send an invitation a second time within a minute.
  await page.getByRole("button", { name: "Send again: carol@example.com" }).click();
  await page.getByText("Too many requests.").waitFor();
});

const rotations = () => `/projects/${place.slug}/environments/staging/rotations`;

test("a rotation takes its TLS settings, gets another interval, and is deleted by its name", async () => {
  const { page, seen } = await opened(`/projects/${place.slug}/rotations`, "Rotations");
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "New rotation" }).click();
  for (const [label, text] of [["Name", "orders"], ["Host", "database.invalid"], ["Name of the database", "d"], ["Administrator", "u"], ["Password of the administrator", "kvc_p"]]) {
    await dialog.getByLabel(label, { exact: true }).fill(text);
  }
  await dialog.getByLabel("Environment").selectOption("staging");
  await dialog.getByLabel("Certificate authorities").fill("no certificate");
  await dialog.getByRole("button", { name: "New rotation" }).click();
  await dialog.locator(".field .bad").waitFor();
  await dialog.getByLabel("TLS").selectOption("require");
  assert.equal(await dialog.getByLabel("Certificate authorities").count(), 0);
  const sent = page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/rotations"));
  await dialog.getByRole("button", { name: "New rotation" }).click();
  const { connection } = (await sent).postDataJSON();
  assert.deepEqual([connection.ssl_mode, connection.ca_certificate], ["require", undefined]);
  await page.getByText("Created orders.").waitFor();

  await page.getByRole("button", { name: "Change interval: orders" }).click();
  await dialog.getByLabel("Days between rotations").fill("400");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.locator(".field .bad").waitFor();
  await dialog.getByLabel("Days between rotations").fill("7");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("every 7 days").waitFor();
  assert.equal((await alice("GET", `${rotations()}/orders`)).rotation_interval_days, 7);

  await page.getByRole("button", { name: "Delete: orders" }).click();
  await dialog.getByLabel("Type orders to confirm").fill("orders");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "No rotations" }).waitFor();
  assert.deepEqual((await alice("GET", rotations())).rotations, []);
  assert.equal(seen.requests.some(({ url }) => url.includes("revoke")), false);
});

test("deliveries of a webhook are listed, tested and sent again", async () => {
  await alice("POST", rotations(), {
    name: "hooked", integration_type: "postgresql", connection_method: "direct", rotation_interval_days: 30,
    connection: { host: "database.invalid", database: "d", admin_username: "u", admin_password: "kvc_p" },
  });
  const url = `http://127.0.0.1:${receiver.address().port}/hook`;
  await alice("POST", `${rotations()}/hooked/webhooks`, { url, events: ["rotation.completed"] });
  const { page } = await opened(`/projects/${place.slug}/rotations`, "Rotations");
  await page.getByText("History and webhooks").click();
  await page.getByRole("button", { name: `Deliveries: ${url}` }).click();
  const dialog = page.getByRole("dialog", { name: "Deliveries" });
  await dialog.getByText("No deliveries in the last 30 days.").waitFor();
  await dialog.getByRole("button", { name: "Send a test" }).click();
  await dialog.getByText("webhook.test").waitFor();
  const until = async (text) => {
    const found = dialog.getByRole("listitem").filter({ hasText: text });
    for (let attempt = 0; attempt < 100 && !(await found.count()); attempt++) {
      await dialog.getByRole("button", { name: "Refresh" }).click();
      await found.first().waitFor({ timeout: 200 }).catch(() => {});
    }
    await found.first().waitFor();
  };
  await until("status 202");
  await dialog.getByRole("button", { name: "Send again" }).click();
  await page.getByText("The event is sent again.").waitFor();
  await until("status 204");
  // Both requests are about the same event.
  assert.equal(received[0], received[1]);
  await page.keyboard.press("Escape");

  await alice("PUT", `/projects/${place.slug}/environments/staging/permissions/${(await bob("GET", "/users/me")).id}`, { role: "read" });
  const { page: reader } = await opened(`/projects/${place.slug}/rotations`, "Rotations", "bob");
  await reader.getByText("History and webhooks").click();
  await reader.getByRole("button", { name: `Deliveries: ${url}` }).click();
  await reader.getByRole("dialog").getByText("status 204").waitFor();
  assert.equal(await reader.getByRole("dialog").getByRole("button", { name: /Send/ }).count(), 0);
});

test("a text is scanned, and its findings are decided", async () => {
  await change(alice, place.slug, [{ environment: "production", key: "API_KEY", action: "set", value: "kvc_4f9a7c21e8b35d60a1b2" }]);
  const { page, seen } = await opened(`/projects/${place.slug}/scans`, "Scans");
  const dialog = page.getByRole("dialog");
  await page.getByText("secrets scan .").waitFor();
  await page.getByRole("button", { name: "Scan a text" }).click();
  await dialog.getByLabel("Name").fill("deploy.sh");
  const leaked = `ghp_${"aB3dE5gH7jK9mN1pQ2sT4vW6xY8zA0bC2dE4"}`;
  await dialog.getByLabel("Text").fill(`export A=kvc_4f9a7c21e8b35d60a1b2\nexport TOKEN=${leaked}\n`);
  await dialog.getByRole("button", { name: "Scan", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  const entry = page.getByRole("listitem").filter({ hasText: "deploy.sh" }).first();
  await entry.locator("summary").click();
  await entry.getByText("production / API_KEY").waitFor();
  assert.doesNotMatch(await page.content(), new RegExp(`${leaked}|kvc_4f9a`));
  const [{ id }] = (await alice("GET", `/scans?project_id=${place.project}`)).scans;
  const { findings } = await alice("GET", `/scans/${id}`);
  const stored = findings.find(({ matches_secret }) => matches_secret);
  await page.getByLabel(`Status of ${stored.rule_id}`).first().selectOption("ignored");
  await page.getByText("The status is saved.").waitFor();
  const changed = (await alice("GET", `/scans/${id}`)).findings.filter(({ status }) => status === "ignored");
  assert.equal(changed.length, 1);
  assert.equal(seen.requests.filter(({ method }) => method === "PATCH").length, 1);

  const { page: other } = await opened(`/projects/${place.slug}/scans`, "Scans", "bob");
  await other.getByText("deploy.sh").first().waitFor();
  assert.equal(await other.getByRole("button", { name: /^Delete/ }).count(), 0);
  await page.getByRole("button", { name: "Delete: deploy.sh" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByText("The scan is deleted.").waitFor();
  assert.deepEqual((await alice("GET", `/scans?project_id=${place.project}`)).scans, []);
});

test("a file that is dropped on an empty team becomes a project, after a review", async () => {
  const carol = caller(server.url, tokenOf("carol"));
  await carol("POST", "/auth/sync");
  const { page } = await opened("/projects", "No projects yet", "carol");
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File(["API_KEY=kvc_first\nDEBUG='on'\nWRONG $X\n"], ".env"));
    document.querySelector("main").dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data }));
  });
  const dialog = page.getByRole("dialog");
  await dialog.getByText("The variables of .env are shown in the new project").waitFor();
  await dialog.getByLabel("Name").fill("First");
  await dialog.getByRole("button", { name: "Create" }).click();
  await page.getByRole("dialog", { name: "Import into development" }).getByText("Line 3 left out").waitFor();
  assert.doesNotMatch(await page.content(), /kvc_/);
  await page.getByRole("button", { name: "Stage 2 changes" }).click();
  await page.getByRole("button", { name: "Review and save" }).click();
  await page.getByRole("button", { name: "Save 2 changes" }).click();
  await page.getByText("Saved 2 changes.").waitFor();
  const [{ slug }] = (await carol("GET", "/projects")).projects;
  assert.equal((await carol("GET", `/projects/${slug}/environments/development/secrets/API_KEY`)).secret.value, "kvc_first");
  // The import is not offered again after a reload.
  await page.reload();
  await page.locator("#grid").waitFor();
  assert.equal(await page.getByRole("dialog").count(), 0);
});

test("the data of an account are downloaded, and the account is deleted by its address", async () => {
  const dave = caller(server.url, tokenOf("dave"));
  const { id } = await dave("POST", "/auth/sync");
  const { page } = await opened("/account", "dave", "dave");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download" }).click()]);
  assert.equal(download.suggestedFilename(), "secrets-account.json");
  assert.equal(JSON.parse(readFileSync(await download.path(), "utf8")).user.id, id);
  await page.getByRole("button", { name: "Delete account" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete your account?" });
  const confirm = dialog.getByRole("button", { name: "Delete account" });
  assert.equal(await confirm.isDisabled(), true);
  await dialog.getByLabel("Type dave@example.com to confirm").fill("dave@example.com");
  await confirm.click();
  await page.getByText("API documentation").first().waitFor();
  await assert.rejects(dave("GET", "/users/me"), /404/);

  // The only owner of a team with other members cannot delete the account.
  const { page: owner } = await opened("/account", "alice");
  await owner.getByRole("button", { name: "Delete account" }).click();
  await owner.getByLabel("Type alice@example.com to confirm").fill("alice@example.com");
  await owner.getByRole("dialog").getByRole("button", { name: "Delete account" }).click();
  await owner.getByRole("dialog").getByText(/only owner of "Acme"/).waitFor();
});
