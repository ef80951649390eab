// Users in Chromium: members and invitations, access to environments, rotations, usage, and new projects.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { closeAll, launch, open } from "./browser.mjs";
import { caller, createTeam } from "./data.mjs";
import { startServer, tokenOf } from "./server.mjs";

let server, browser, alice, bob, place;
const windows = [];

before(async () => {
  server = await startServer("dashboard-people");
  [alice, bob] = ["alice", "bob"].map((name) => caller(server.url, tokenOf(name)));
  place = await createTeam(alice, bob);
  browser = await launch();
});

afterEach(() => closeAll(windows));

after(async () => {
  await browser?.close();
  await server?.close();
});

// Opens a page as one user, and waits for its heading.
async function opened(path, title, who = "alice") {
  const window = await open(browser, { url: server.url, token: tokenOf(who) });
  windows.push(window);
  await window.page.goto(server.url + path);
  await window.page.getByRole("heading", { name: title, exact: true }).first().waitFor();
  return window;
}

const members = async () => (await alice("GET", `/teams/${place.team}`)).members;
const teamPath = (section) => `/teams/${place.team}/${section}`;
const projectPath = (section) => `/projects/${place.slug}/${section}`;

test("a person is invited, and the invitation is revoked", async () => {
  const { page } = await opened(teamPath("members"), "Members");
  await page.getByRole("button", { name: "Invite" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Email address").fill("nobody");
  await dialog.getByRole("button", { name: "Invite" }).click();
  await dialog.locator(".field .bad").waitFor();
  await dialog.getByLabel("Email address").fill("carol@example.com");
  await dialog.getByLabel("admin", { exact: true }).check();
  await dialog.getByRole("button", { name: "Invite" }).click();
  await dialog.getByRole("heading", { name: "Send this link" }).waitFor();
  assert.match(await dialog.getByLabel("Link").inputValue(), /\/invitations\//);
  const [invitation] = await alice("GET", `/teams/${place.team}/invitations`);
  assert.deepEqual([invitation.email, invitation.role], ["carol@example.com", "admin"]);
  await dialog.getByRole("button", { name: "Done" }).click();

  await page.getByRole("button", { name: "Revoke: carol@example.com" }).click();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await page.getByText("The invitation is revoked.").waitFor();
  await page.getByRole("heading", { name: "Invitations" }).waitFor({ state: "detached" });
  assert.deepEqual(await alice("GET", `/teams/${place.team}/invitations`), []);
});

test("the role of a member changes, and the member is removed", async () => {
  const dave = caller(server.url, tokenOf("dave"));
  const { email, id } = await dave("POST", "/auth/sync");
  await alice("POST", `/teams/${place.team}/members`, { email });
  const [{ token }] = await dave("GET", "/invitations");
  await dave("POST", `/invitations/${token}/accept`);
  const { page } = await opened(teamPath("members"), "Members");
  const dialog = page.getByRole("dialog");
  assert.equal(await page.getByRole("button", { name: /: alice$/ }).count(), 0);
  await page.getByRole("button", { name: "Change role: dave" }).click();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Change role");
  await page.getByRole("button", { name: "Change role: dave" }).click();
  await dialog.getByLabel("admin", { exact: true }).check();
  await dialog.getByRole("button", { name: "Change role" }).click();
  await page.getByText("is now admin").waitFor();
  assert.equal((await members()).find((member) => member.user_id === id).role, "admin");

  // An admin may not change an owner.
  const { page: other } = await opened(teamPath("members"), "Members", "dave");
  await other.getByRole("button", { name: /: bob/ }).first().waitFor();
  assert.equal(await other.getByRole("button", { name: /: (alice|dave)/ }).count(), 0);

  await page.getByRole("button", { name: "Remove: dave" }).click();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("button", { name: "Remove: dave" }).waitFor({ state: "detached" });
  assert.equal((await members()).some((member) => member.user_id === id), false);
});

test("access is staged, reviewed and saved", async () => {
  const { page } = await opened(projectPath("access"), "Access");
  const roles = async () => Object.fromEntries((await bob("GET", `/projects/${place.slug}/my-permissions`)).permissions.map(({ environment_name, role }) => [environment_name, role]));
  assert.deepEqual(await roles(), { development: "write", staging: "write", production: "write" });
  const name = (await members()).find(({ email }) => email === "bob@example.com").name;
  const choose = (environment, role) => page.getByLabel(`${name}, ${environment}`).selectOption(role);
  await choose("staging", "read");
  await choose("production", "none");
  await page.getByText("2 unsaved changes").waitFor();
  await choose("staging", "");
  await page.getByText("1 unsaved change", { exact: true }).waitFor();
  await choose("staging", "read");
  assert.equal((await roles()).production, "write");
  page.once("dialog", (dialog) => dialog.dismiss());
  await page.getByRole("link", { name: "Tokens" }).click();
  await page.getByText("2 unsaved changes").waitFor();
  await page.getByRole("button", { name: "Review and save" }).click();
  await page.getByRole("dialog").getByText(`${name} in production: none`).waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.getByText("Access is saved.").waitFor();
  assert.deepEqual(await roles(), { development: "write", staging: "read", production: "none" });
  await page.reload();
  await page.getByLabel(`${name}, production`).waitFor();
  assert.equal(await page.getByLabel(`${name}, production`).inputValue(), "none");
  await choose("production", "");
  await choose("staging", "");
  await page.getByRole("button", { name: "Review and save" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.getByText("Access is saved.").waitFor();
  assert.deepEqual(await roles(), { development: "write", staging: "write", production: "write" });
});

test("access that was saved in part is saved by another try", async () => {
  const { id } = await bob("GET", "/users/me");
  const roles = async () => Object.fromEntries((await bob("GET", `/projects/${place.slug}/my-permissions`)).permissions.map(({ environment_name, role }) => [environment_name, role]));
  for (const environment of ["staging", "production"]) {
    await alice("PUT", `/projects/${place.slug}/environments/${environment}/permissions/${id}`, { role: "read" });
  }
  const { environments } = await alice("GET", `/projects/${place.slug}`);
  const production = environments.find(({ name }) => name === "production");
  const { page } = await opened(projectPath("access"), "Access");
  let isRefused = true;
  const refused = { status: 429, json: { error: "too many requests", code: "rate_limited" } };
  await page.route(`**/environments/${production.id}/permissions/*`, (route) => (isRefused ? route.fulfill(refused) : route.fallback()));
  const { name } = (await members()).find(({ email }) => email === "bob@example.com");
  await page.getByLabel(`${name}, staging`).selectOption("");
  await page.getByLabel(`${name}, production`).selectOption("");
  await page.getByRole("button", { name: "Review and save" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("Too many requests.").waitFor();
  assert.deepEqual(await roles(), { development: "write", staging: "write", production: "read" });

  isRefused = false;
  await dialog.getByRole("button", { name: "Save" }).click();

  await page.getByText("Access is saved.").waitFor();
  assert.deepEqual(await roles(), { development: "write", staging: "write", production: "write" });
});

const rotationPath = () => `/projects/${place.slug}/environments/production/rotations`;

test("a rotation is created, shows its attempts, is rotated, paused and resumed, and a reader is offered none of it", async () => {
  const { page } = await opened(projectPath("rotations"), "Rotations");
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "New rotation" }).click();
  await dialog.getByLabel("Environment").selectOption("production");
  await dialog.getByLabel("Name", { exact: true }).fill("main-db");
  await dialog.getByLabel("Host").fill("not a host");
  await dialog.getByLabel("Name of the database").fill("d");
  await dialog.getByLabel("Administrator", { exact: true }).fill("u");
  await dialog.getByLabel("Password of the administrator").fill("kvc_p");
  await dialog.getByRole("button", { name: "New rotation" }).click();
  await dialog.locator(".field .bad").waitFor();
  await dialog.getByLabel("Host").fill("database.invalid");
  await dialog.getByRole("button", { name: "Test the connection" }).click();
  await dialog.getByText(/^Cannot reach the database/).waitFor();
  assert.deepEqual((await alice("GET", rotationPath())).rotations, []);
  await dialog.getByRole("button", { name: "New rotation" }).click();
  await page.getByText("Created main-db.").waitFor();
  const [rotation] = (await alice("GET", rotationPath())).rotations;
  assert.deepEqual([rotation.name, rotation.rotation_interval_days], ["main-db", 30]);
  await page.getByText("every 30 days").waitFor();
  await page.getByRole("button", { name: "Rotate now: main-db" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Rotate now" }).click();
  await page.getByText("main-db was not rotated.").waitFor();
  // Waits until the list is loaded again, because the error moves the elements below.
  await page.locator(".entry .what .bad").waitFor();
  await page.getByText("History and webhooks").click();
  await page.locator(".attempts").getByText("manual").waitFor();
  assert.equal((await alice("GET", `${rotationPath()}/main-db/history`)).length, 1);
  await page.getByRole("button", { name: "Pause: main-db" }).click();
  await page.getByRole("button", { name: "Resume: main-db" }).waitFor();
  assert.equal((await alice("GET", `${rotationPath()}/main-db`)).status, "paused");
  await page.getByRole("button", { name: "Resume: main-db" }).click();
  await page.getByRole("button", { name: "Pause: main-db" }).waitFor();
  assert.equal((await alice("GET", `${rotationPath()}/main-db`)).status, "active");

  await page.getByRole("button", { name: "Add webhook" }).click();
  await dialog.getByLabel("URL").fill("not an address");
  await dialog.getByRole("button", { name: "Add webhook" }).click();
  await dialog.locator(".field .bad").waitFor();
  await dialog.getByLabel("URL").fill("https://hooks.example.com/a");
  await dialog.getByLabel("started").uncheck();
  await dialog.getByRole("button", { name: "Add webhook" }).click();
  assert.match(await dialog.getByLabel("Signing secret").inputValue(), /^whsec_/);
  await dialog.getByRole("button", { name: "I have stored it" }).click();
  const [webhook] = await alice("GET", `${rotationPath()}/main-db/webhooks`);
  assert.deepEqual([webhook.url, webhook.events.sort()], ["https://hooks.example.com/a", ["rotation.completed", "rotation.failed"]]);
  await page.getByRole("button", { name: "Delete: https://hooks.example.com/a" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByText("The webhook is deleted.").waitFor();
  assert.deepEqual(await alice("GET", `${rotationPath()}/main-db/webhooks`), []);

  const { id } = await bob("GET", "/users/me");
  const permission = `/projects/${place.slug}/environments/production/permissions/${id}`;
  await alice("PUT", permission, { role: "read" });
  const { page: reader } = await opened(projectPath("rotations"), "Rotations", "bob");
  await reader.getByText("History and webhooks").click();
  await reader.locator(".attempts").getByText("manual").waitFor();
  assert.deepEqual(await reader.getByRole("main").getByRole("button").allTextContents(), ["New rotation"]);
  await reader.getByRole("button", { name: "New rotation" }).click();
  assert.deepEqual(await reader.getByLabel("Environment").locator("option").allTextContents(), ["development", "staging"]);
  await alice("DELETE", permission);
});

test("the secret of a webhook stays visible if the history cannot be loaded again", async () => {
  await alice("POST", `/projects/${place.slug}/environments/staging/rotations`, {
    name: "hooked", integration_type: "postgresql", connection_method: "direct", rotation_interval_days: 30,
    connection: { host: "database.invalid", database: "d", admin_username: "u", admin_password: "kvc_p" },
  });
  const { page } = await opened(projectPath("rotations"), "Rotations");
  let isFailing = false;
  await page.route("**/rotations/hooked/history", (route) => (isFailing ? route.fulfill({ status: 429, json: {} }) : route.fallback()));
  const entry = page.locator(".entry").filter({ hasText: "hooked" });
  await entry.getByText("History and webhooks").click();
  await entry.getByRole("button", { name: "Add webhook" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("URL").fill("https://hooks.example.com/once");
  isFailing = true;
  await dialog.getByRole("button", { name: "Add webhook" }).click();
  await entry.locator("summary + .failure").waitFor();
  assert.match(await dialog.getByLabel("Signing secret").inputValue(), /^whsec_/);
  await dialog.getByRole("button", { name: "I have stored it" }).click();
  await dialog.waitFor({ state: "detached" });
});

test("usage is shown as the service reports it", async () => {
  const { page } = await opened(teamPath("usage"), "Usage", "bob");
  const { usage } = await alice("GET", `/teams/${place.team}/usage`);
  const shown = await page.locator(".use").filter({ hasText: "Members" }).locator("strong").textContent();
  assert.equal(shown, `${usage.members.used}, no limit`);
});

test("a member sees people and their own access, and is offered no change", async () => {
  const { page } = await opened(teamPath("members"), "Members", "bob");
  await page.getByText("alice@example.com").waitFor();
  assert.equal(await page.getByRole("main").getByRole("button").count(), 0);
  const { page: access } = await opened(projectPath("access"), "Access", "bob");
  await access.getByRole("rowheader", { name: "production" }).waitFor();
  assert.equal(await access.getByRole("combobox").count(), 0);
});

test("a project is created and opened", async () => {
  const { page } = await opened("/projects", "Projects", "bob");
  await page.getByRole("button", { name: "New project" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Mailer");
  await dialog.getByLabel("Team").selectOption("Acme");
  await dialog.getByRole("button", { name: "Create" }).click();
  await page.getByText("No secrets yet").waitFor();
  const { projects } = await alice("GET", "/projects");
  const made = projects.find(({ name }) => name === "Mailer");
  assert.equal(made.team_id, place.team);
  assert.equal(new URL(page.url()).pathname, `/projects/${made.slug}`);
});
