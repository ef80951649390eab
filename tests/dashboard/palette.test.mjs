// The command palette in Chromium: projects, sections, keys and actions, on all screens.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { SIZES, closeAll, launch, look, open, openGrid } from "./browser.mjs";
import { caller, createLarge, createTeam } from "./data.mjs";
import { startServer, tokenOf } from "./server.mjs";

let server, browser, call, place, large;
const windows = [];

before(async () => {
  server = await startServer("dashboard-palette");
  call = caller(server.url, tokenOf("alice"));
  place = await createTeam(call, caller(server.url, tokenOf("bob")));
  await call("POST", "/projects", { name: "Mailer" });
  large = (await createLarge(call)).slug;
  browser = await launch();
});

afterEach(() => closeAll(windows));

after(async () => {
  await browser?.close();
  await server?.close();
});

// Opens a page, and waits for its account menu.
async function opened(path, options = {}) {
  const window = await open(browser, { url: server.url, token: tokenOf("alice"), ...options });
  windows.push(window);
  await window.page.goto(server.url + path);
  await window.page.locator(".bar .menu").waitFor();
  return window;
}

const dialog = (page) => page.getByRole("dialog", { name: "Search and commands" });

// Opens the palette, and waits until it lists the projects.
async function palette(page) {
  await page.keyboard.press("Control+k");
  await dialog(page).getByRole("option", { name: "Mailer" }).waitFor();
  await page.waitForFunction(() => document.activeElement.role === "combobox");
}

// Opens the palette, types a text, and runs the command that is then the active one.
async function run(page, text, name) {
  await palette(page);
  await page.keyboard.type(text);
  await dialog(page).getByRole("option", { name, selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await dialog(page).waitFor({ state: "detached" });
}

const path = (page) => new URL(page.url()).pathname;

test("projects and sections are opened from every screen", async () => {
  const { page } = await opened("/account");
  await run(page, "mailer", /^Mailer /);
  await page.getByRole("heading", { name: "Mailer", includeHidden: true }).waitFor();
  assert.equal(path(page), "/projects/mailer");
  await page.getByText("No secrets yet").waitFor();
  await run(page, "tok", /^Tokens .*Section$/);
  await page.getByRole("heading", { level: 1, name: "Tokens" }).waitFor();
  assert.equal(path(page), "/projects/mailer/tokens");
  await page.waitForFunction(() => document.activeElement.textContent.trim() === "Tokens");
  await run(page, "members acme", /^Members Acme/);
  await page.getByRole("heading", { level: 1, name: "Members" }).waitFor();
  await run(page, "usage", /^Usage/);
  await page.getByRole("heading", { level: 1, name: "Usage" }).waitFor();
  assert.equal(path(page), `/teams/${place.team}/usage`);
  await run(page, "projects", /^Projects/);
  await page.getByRole("heading", { level: 1, name: "Projects" }).waitFor();
  await run(page, "sessions", /^Sessions/);
  await page.waitForURL(`${server.url}/account`);
});

test("a key is found by its letters, and shown in the grid", async () => {
  const { page } = await opened(`/projects/${large}?q=0001`);
  await page.locator("#grid").waitFor();
  await run(page, "serv0873", "SERVICE_0873_TOKEN Key");
  await page.waitForFunction(() => document.activeElement?.id === "grid");
  const active = page.locator("#grid .active");
  assert.match(await active.getAttribute("aria-label"), /^SERVICE_0873_TOKEN, development/);
  // The filter that hid the key is cleared, and the grid has scrolled to it.
  assert.equal(await page.locator("#filter").inputValue(), "");
  await page.waitForFunction(() => {
    const [cell, grid] = ["#grid .active", "#grid"].map((one) => document.querySelector(one).getBoundingClientRect());
    return cell.top >= grid.top && cell.bottom <= grid.bottom;
  });
});

test("going to a key ends the selection of cells", async () => {
  const { page } = await opened(`/projects/${large}`);
  const count = (least) =>
    page.waitForFunction((least) => (document.querySelectorAll("#grid [aria-selected=true]").length >= 3) === least, least);
  for (const key of ["Control+Home", "ArrowRight", "Shift+ArrowDown", "Shift+ArrowDown"]) await page.locator("#grid").press(key);
  await count(true);
  await run(page, "serv0873", "SERVICE_0873_TOKEN Key");
  await page.waitForFunction(() => document.activeElement?.id === "grid");
  await count(false);
});

test("letters typed while the palette is loaded are no shortcuts of the grid", async () => {
  const { page } = await opened(`/projects/${large}`);
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route(/windows\/palette\.js$/, async (route) => {
    await held;
    await route.continue();
  });
  await page.locator("#grid").focus();
  await page.keyboard.press("Control+k");
  await page.keyboard.press("x");
  release();
  await dialog(page).waitFor();
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  assert.equal(await page.getByRole("region", { name: "Changes that are not saved" }).count(), 0);
});

test("actions of the grid open its windows, and the focus returns", async () => {
  const { page } = await opened(`/projects/${large}`);
  await page.locator("#grid").focus();
  await palette(page);
  assert.equal(await dialog(page).getByRole("option", { name: /^Review and save/ }).count(), 0);
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  await page.waitForFunction(() => document.activeElement?.id === "grid");
  for (const [text, title] of [["add", "Add key"], ["compare", "Compare development with staging"], ["legend", "Legend and shortcuts"]]) {
    await run(page, text, new RegExp(`^${title.split(" ")[0]}`));
    await page.getByRole("dialog", { name: title }).waitFor();
    // The palette is not opened over another window, which may have input.
    await page.keyboard.press("Control+k");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.waitForFunction(() => document.activeElement?.id === "grid");
  }
  await page.locator("#grid").press("x");
  await run(page, "review", /^Review and save/);
  await page.getByRole("dialog", { name: "Review and save" }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("#grid").press("Control+z");
});

test("the main actions of all sections are found by typing, and open their section and its dialog", async () => {
  const { page } = await opened(`/projects/${place.slug}`);
  await page.getByText("No secrets yet").waitFor();
  const project = `/projects/${place.slug}`;
  const team = `/teams/${place.team}`;
  const cases = [
    ["create token", /^New token/, `${project}/tokens`, "New service token"],
    ["invite member", /^Invite/, `${team}/members`, "Invite a person"],
    // The current place is now the team.
    ["new token", /^New token/, `${team}/tokens`, "New service token"],
    ["scan text", /^Scan a text/, `${team}/scans`, "Scan a text"],
    ["create project", /^New project/, "/projects", "New project"],
    ["invite acme", /^Invite Members Acme/, `${team}/members`, "Invite a person"],
    ["delete account", /^Delete account/, "/account", "Delete your account?"],
  ];
  const inProject = [
    ["add environment", /^New environment/, `${project}/environments`, "New environment"],
    ["new rotation", /^New rotation/, `${project}/rotations`, "New rotation"],
    ["scan a", /^Scan a text/, `${project}/scans`, "Scan a text"],
    ["delete proj", /^Delete project/, `${project}/settings`, "Delete Web API?"],
    ["add key", /^Add key/, project, "Add key"],
    ["compare", /^Compare environments/, project, /^Compare development/],
  ];
  const opens = async ([text, name, address, title]) => {
    await run(page, text, name);
    await page.getByRole("dialog", { name: title }).waitFor();
    assert.equal(path(page), address);
    // A second opening does not repeat the action.
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  for (const one of cases) await opens(one);
  await run(page, "web api", /^Web API/);
  for (const one of inProject) await opens(one);
  await run(page, "show audit", /^Audit/);
  await page.getByRole("heading", { level: 1, name: "Audit" }).waitFor();
  const download = page.waitForEvent("download");
  await run(page, "export csv", /^Download CSV/);
  assert.equal((await download).suggestedFilename(), "audit.csv");
  await run(page, "open sessions", /^Sessions/);
  await page.getByRole("heading", { name: "Sessions" }).waitFor();
  assert.equal(path(page), "/account");
});

test("an action that was not shown is not run on a later screen", async () => {
  const { page, context } = await opened(`/projects/${place.slug}/scans`);
  await page.getByRole("heading", { level: 1, name: "Scans" }).waitFor();
  await context.route("**/api/v1/tokens*", (route) => route.fulfill({ status: 429, json: {} }));
  await run(page, "create token", /^New token/);
  await page.getByText("Too many requests.").waitFor();
  await context.unroute("**/api/v1/tokens*");
  await run(page, "scans", /^Scans/);
  await page.getByRole("heading", { level: 1, name: "Scans" }).waitFor();
  await run(page, "tokens", /^Tokens/);
  await page.getByRole("button", { name: "New token" }).waitFor();
  assert.equal(await page.getByRole("dialog").count(), 0);
});

test("only actions that the user may do are listed", async () => {
  const { page } = await opened(`/projects/${place.slug}/environments`, { token: tokenOf("bob") });
  await page.getByRole("heading", { level: 1, name: "Environments" }).waitFor();
  await page.keyboard.press("Control+k");
  await dialog(page).getByRole("option", { name: /^Web API/ }).waitFor();
  await page.keyboard.press("Escape");
  const names = async (text) => {
    await page.keyboard.press("Control+k");
    await dialog(page).getByRole("option", { name: /^Web API/ }).waitFor();
    await page.keyboard.type(text);
    await page.waitForFunction((text) => document.querySelector("dialog.palette input").value === text, text);
    const found = await dialog(page).locator('[role="option"] .name').allTextContents();
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    return found;
  };
  for (const [text, name] of [["create token", "New token"], ["invite", "Invite"], ["delete project", "Delete project"], ["download csv", "Download CSV"]]) {
    assert.equal((await names(text)).includes(name), false, name);
  }
  for (const [text, name] of [["environment", "New environment"], ["rotation", "New rotation"], ["scan", "Scan a text"], ["project", "New project"]]) {
    assert.ok((await names(text)).includes(name), name);
  }
  const { members } = await call("GET", `/teams/${place.team}`);
  const bob = members.find(({ email }) => email === "bob@example.com").user_id;
  for (const environment of ["development", "staging", "production"]) {
    await call("PUT", `/projects/${place.slug}/environments/${environment}/permissions`, { permissions: [{ user_id: bob, role: "read" }] });
  }
  for (const [text, name] of [["rotation", "New rotation"], ["add key", "Add key"]]) assert.equal((await names(text)).includes(name), false, name);
  assert.ok((await names("compare")).includes("Compare environments"));
});

test("a theme is chosen, and the user signs out", async () => {
  const { page, context } = await opened(`/projects/${place.slug}/tokens`);
  await run(page, "dark", "Theme: dark Action");
  await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
  const signOut = page.waitForRequest((request) => request.url().endsWith("/auth/sign-out"));
  await context.route("**/auth/sign-out", (route) => route.fulfill({ status: 204 }));
  await run(page, "sign", "Sign out Action");
  await signOut;
  await page.waitForURL(`${server.url}/`);
});

test("unsaved changes are not lost by going to another project", async () => {
  const { page, seen } = await opened(`/projects/${large}`);
  await page.locator("#grid").press("x");
  await page.getByRole("region", { name: "Changes that are not saved" }).waitFor();
  const asked = page.waitForEvent("dialog");
  page.once("dialog", (question) => question.dismiss());
  await run(page, "mailer", /^Mailer/);
  assert.match((await asked).message(), /not saved/);
  assert.equal(path(page), `/projects/${large}`);
  assert.deepEqual(seen.problems, []);
  await page.locator("#grid").press("Control+z");
});

test("the palette is a combobox with a list, and opens with its button and its key", async () => {
  const { page } = await opened("/projects");
  await page.getByRole("searchbox").waitFor();
  await page.getByRole("button", { name: "Search and commands" }).click();
  const field = dialog(page).getByRole("combobox");
  await dialog(page).getByRole("option", { name: "Mailer" }).waitFor();
  const active = async () => page.locator(`[id="${await field.getAttribute("aria-activedescendant")}"]`);
  assert.equal(await (await active()).getAttribute("aria-selected"), "true");
  assert.equal(await dialog(page).getByRole("option", { selected: true }).count(), 1);
  // The list is left at neither end.
  const all = await dialog(page).getByRole("option").allTextContents();
  await field.press("ArrowUp");
  await page.waitForFunction((last) => document.querySelector("[aria-selected=true]").textContent === last, all.at(-1));
  await field.press("ArrowDown");
  await page.waitForFunction((first) => document.querySelector("[aria-selected=true]").textContent === first, all[0]);
  await field.fill("no such thing");
  await dialog(page).getByText("Nothing matches.").waitFor();
  assert.equal(await field.getAttribute("aria-expanded"), "false");
  await field.press("Enter");
  assert.equal(await dialog(page).count(), 1);
  await field.press("Control+k");
  await dialog(page).waitFor({ state: "detached" });
  await page.waitForFunction(() => document.activeElement.ariaLabel === "Search and commands");
  await page.getByRole("searchbox").focus();
  await palette(page);
  await dialog(page).getByRole("option", { name: "Mailer" }).click();
  await page.getByText("No secrets yet").waitFor();
});

test("projects that cannot be loaded are reported, and the other commands work", async () => {
  const { page, context } = await opened(`/projects/${place.slug}/tokens`);
  await context.route("**/api/v1/projects", (route) => route.fulfill({ status: 429, json: {} }));
  await page.keyboard.press("Control+k");
  await dialog(page).getByText("The projects are not listed. Too many requests.").waitFor();
  await page.keyboard.type("scans");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Scans" }).waitFor();
});

test("the palette has no findings of axe, and fits into a narrow window", async () => {
  for (const size of Object.values(SIZES)) {
    const { page } = await opened("/projects", size);
    await openGrid(page, server.url, large);
    await palette(page);
    for (const text of ["", "token", "no such thing"]) {
      await dialog(page).getByRole("combobox").fill(text);
      await look(page, `palette-${text.split(" ")[0]}`);
    }
  }
});
