// The main tasks in Chromium by keyboard alone: no step uses the pointer, or moves the focus by a script. The number of key
// presses of each task is reported, and the number of steps, which are the presses without those of the Tab key; text that
// is typed counts as one. `docs/dashboard.md` has both numbers, and the test fails if a task needs more.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { launch, open } from "./browser.mjs";
import { caller, createTeam, change } from "./data.mjs";
import { root, startServer, tokenOf } from "./server.mjs";

// Numbers of presses and steps of each task, from the table in the documentation.
const table = readFileSync(join(root, "docs/dashboard.md"), "utf8").matchAll(/^\| (\d+)\. [^|]+\| (\d+) \| (\d+) \|/gm);
const LIMITS = new Map([...table].map(([, number, presses, steps]) => [number, { presses: Number(presses), steps: Number(steps) }]));

// Maximum number of presses of the Tab key to reach a control.
const MAX_TABS = 40;

let server, browser, alice, place;

before(async () => {
  server = await startServer("dashboard-keyboard");
  alice = caller(server.url, tokenOf("alice"));
  place = await createTeam(alice, caller(server.url, tokenOf("bob")));
  const set = (environment, key, value) => ({ environment, key, action: "set", value: `kvc_${value}` });
  await change(alice, place.slug, [set("development", "API_KEY", "one"), set("staging", "API_KEY", "two"), set("development", "LOG_LEVEL", "debug")]);
  await alice("PUT", `/projects/${place.slug}/environments/development/secrets/API_KEY`, { value: "kvc_later" });
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

// User who has only a keyboard.
class Keyboard {
  presses = 0;
  steps = 0;

  constructor(page) {
    this.page = page;
  }

  async press(...keys) {
    for (const key of keys) {
      this.presses += 1;
      this.steps += Number(key !== "Tab");
      await this.page.keyboard.press(key);
    }
  }

  async type(text) {
    this.presses += 1;
    this.steps += 1;
    await this.page.keyboard.type(text);
  }

  // Presses Tab until the control with this name has the focus.
  async reach(name) {
    const focused = () =>
      this.page.evaluate(() => {
        const element = document.activeElement;
        const label = element.getAttribute("aria-label") ?? element.labels?.[0]?.innerText ?? element.innerText ?? "";
        return label.trim().split("\n")[0];
      });
    for (let tabs = 0; tabs < MAX_TABS; tabs++) {
      if ((await focused()).startsWith(name)) return;
      await this.press("Tab");
    }
    assert.fail(`${name} is not reached: ${await focused()} has the focus`);
  }

  // Waits for a dialog, and for its focus.
  async dialog(title) {
    await this.page.getByRole("dialog").getByRole("heading", { name: title }).waitFor();
    await this.page.waitForFunction(() => document.activeElement.closest("dialog"));
  }

  // Waits until no dialog is open.
  async closed() {
    await this.page.getByRole("dialog").waitFor({ state: "detached" });
  }
}

const value = async (environment, key) => (await alice("GET", `/projects/${place.slug}/environments/${environment}/secrets/${key}`)).secret.value;

const active = (page, label) => page.waitForFunction((label) => document.querySelector("#grid .active")?.getAttribute("aria-label")?.startsWith(label), label);

// Opens a page and runs a task.
function task(name, path, run) {
  test(name, async (context) => {
    const { page, context: window, seen } = await open(browser, { url: server.url, token: tokenOf("alice") });
    // A click with the pointer would have coordinates.
    await page.exposeFunction("pointerUsed", () => void seen.problems.push("pointer"));
    await page.addInitScript(() => addEventListener("pointerdown", () => window.pointerUsed(), true));
    await page.goto(server.url + path());
    const keyboard = new Keyboard(page);
    await run(keyboard, page, window);
    const { presses, steps } = keyboard;
    context.diagnostic(`${presses} presses, ${steps} steps`);
    const most = LIMITS.get(name.split(".")[0]);
    assert.ok(most && presses <= most.presses && steps <= most.steps, `more than ${JSON.stringify(most)}`);
    assert.deepEqual(seen.problems, []);
    await window.close();
  });
}

const grid = () => `/projects/${place.slug}`;

// Moves the focus to the grid, which the Tab key reaches as one element.
async function enter(keyboard, page) {
  await page.locator("#grid").waitFor();
  await keyboard.reach("Secrets of");
}

task("1. a project is created, and opened", () => "/projects", async (keyboard, page) => {
  await page.getByRole("heading", { name: "Projects" }).waitFor();
  await keyboard.reach("New project");
  await keyboard.press("Enter");
  await keyboard.dialog("New project");
  await keyboard.type("By keyboard");
  await keyboard.press("Enter");
  await page.getByText("No secrets yet").waitFor();
});

task("2. a key is added with a generated value, and saved", grid, async (keyboard, page) => {
  await enter(keyboard, page);
  await keyboard.press("n");
  await keyboard.dialog("Add key");
  await keyboard.type("SESSION_KEY");
  await keyboard.reach("Generate a random value");
  await keyboard.press("Enter");
  await keyboard.press("Control+Enter");
  await keyboard.closed();
  await keyboard.press("Control+s");
  await keyboard.dialog("Review and save");
  await keyboard.reach("Save 1 change");
  await keyboard.press("Enter");
  await page.getByText("Saved 1 change.").waitFor();
  assert.match(await value("development", "SESSION_KEY"), /^[A-Za-z0-9]{32}$/);
});

task("3. two values are changed in two environments, and saved at once", grid, async (keyboard, page) => {
  await enter(keyboard, page);
  await active(page, "API_KEY, development");
  for (const text of ["kvc_first", "kvc_second"]) {
    await keyboard.press("e");
    await keyboard.dialog("API_KEY in");
    await keyboard.reach("New value");
    await keyboard.type(text);
    await keyboard.press("Control+Enter");
    await keyboard.closed();
    await keyboard.press("ArrowRight");
  }
  await keyboard.press("Control+s");
  await keyboard.dialog("Review and save");
  await keyboard.reach("Save 2 changes");
  await keyboard.press("Enter");
  await page.getByText("Saved 2 changes.").waitFor();
  assert.deepEqual([await value("development", "API_KEY"), await value("staging", "API_KEY")], ["kvc_first", "kvc_second"]);
});

task("4. a value is found, revealed and hidden", grid, async (keyboard, page) => {
  await enter(keyboard, page);
  await keyboard.press("/");
  await keyboard.type("log");
  await keyboard.press("Enter");
  await active(page, "LOG_LEVEL, development");
  await keyboard.press("Enter");
  await page.locator("#grid .value").getByText("kvc_debug").waitFor();
  await keyboard.press("Escape");
  await page.locator("#grid .value").waitFor({ state: "detached" });
});

task("5. a value is copied without being shown", grid, async (keyboard, page, window) => {
  await window.grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.url });
  await enter(keyboard, page);
  await keyboard.press("ArrowDown", "c");
  await page.getByText("Copied LOG_LEVEL of development").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "kvc_debug");
});

task("6. an environment's values are promoted to another one", grid, async (keyboard, page) => {
  await enter(keyboard, page);
  await keyboard.press("Control+Home", "ArrowRight", "Control+Space", "p");
  await keyboard.dialog("Copy to another environment");
  await keyboard.reach("Environment");
  await keyboard.press("ArrowDown");
  await keyboard.reach("Stage");
  await keyboard.press("Enter");
  await keyboard.closed();
  await keyboard.press("Control+s");
  await keyboard.dialog("Review and save");
  await keyboard.reach("Save");
  await keyboard.press("Enter");
  // The page asks for a second confirmation for production, and its button has the focus.
  await page.waitForFunction(() => document.activeElement.textContent.includes("Save to production"));
  await keyboard.press("Enter");
  await page.getByText(/^Saved \d changes/).waitFor();
  assert.equal(await value("production", "LOG_LEVEL"), "kvc_debug");
});

task("7. an earlier version is restored", grid, async (keyboard, page) => {
  await enter(keyboard, page);
  await keyboard.press("Control+Home", "ArrowRight", "h");
  await keyboard.dialog("History of API_KEY");
  await page.getByRole("button", { name: "Roll back development to version 1" }).waitFor();
  await keyboard.reach("Roll back development to version 1");
  await keyboard.press("Enter");
  await page.getByText("becomes the value of development at once").waitFor();
  await page.waitForFunction(() => document.activeElement.textContent.trim() === "Roll back");
  await keyboard.press("Enter");
  await page.getByText("Rolled back API_KEY of development.").waitFor();
  assert.equal(await value("development", "API_KEY"), "kvc_one");
});

task("8. an environment is created below a parent", grid, async (keyboard, page) => {
  await enter(keyboard, page);
  await keyboard.press("g", "e");
  await page.getByRole("heading", { name: "Environments" }).waitFor();
  await keyboard.reach("New environment");
  await keyboard.press("Enter");
  await keyboard.dialog("New environment");
  await keyboard.type("preview");
  await keyboard.reach("Inherits from");
  await keyboard.type("prod");
  await keyboard.reach("New environment");
  await keyboard.press("Enter");
  await page.getByText("Created preview.").waitFor();
  const { environments } = await alice("GET", `/projects/${place.slug}`);
  const [preview, production] = ["preview", "production"].map((name) => environments.find((one) => one.name === name));
  assert.equal(preview.inherits_from, production.id);
});

task("9. a service token is created, and its value copied", grid, async (keyboard, page, window) => {
  await window.grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.url });
  await enter(keyboard, page);
  await keyboard.press("g", "t");
  await page.getByRole("heading", { name: "Tokens", exact: true }).waitFor();
  await keyboard.reach("New token");
  await keyboard.press("Enter");
  await keyboard.dialog("New service token");
  await keyboard.type("cluster");
  await keyboard.press("Enter");
  await keyboard.dialog("Store the token now");
  await keyboard.reach("Copy");
  await keyboard.press("Enter");
  await page.getByText("The token is copied.").waitFor();
  await keyboard.reach("I have stored it");
  await keyboard.press("Enter");
  await keyboard.closed();
  const { tokens } = await alice("GET", `/tokens?team_id=${place.team}`);
  assert.ok((await page.evaluate(() => navigator.clipboard.readText())).startsWith(tokens[0].token_prefix));
});

task("10. a person is invited, and one sees who read a secret", () => `/teams/${place.team}/members`, async (keyboard, page) => {
  await page.getByRole("heading", { name: "Members" }).waitFor();
  await keyboard.reach("Invite");
  await keyboard.press("Enter");
  await keyboard.dialog("Invite a person");
  await keyboard.type("carol@example.com");
  await keyboard.press("Enter");
  await keyboard.dialog("Send this link");
  await keyboard.press("Escape");
  await keyboard.closed();
  await keyboard.press("g", "a");
  await page.getByRole("heading", { name: "Audit" }).waitFor();
  await keyboard.reach("Action");
  await keyboard.type("secrets read");
  await keyboard.press("Tab");
  await page.locator(".record", { hasText: "project.created" }).waitFor({ state: "detached" });
  assert.deepEqual([...new Set(await page.locator(".record .action").allTextContents())], ["secret.read"]);
});
