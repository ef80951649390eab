// All sections in Chromium: accessibility and hostile names.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { SIZES, launch, look, open } from "./browser.mjs";
import { caller, createTeam } from "./data.mjs";
import { DIALOGS, fill, sections } from "./screens.mjs";
import { startServer, tokenOf } from "./server.mjs";

let server, browser, alice, place;

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
  await dialog.getByRole("button", { name: "I have stored it" }).click();
  await show(page, all.rotations);
  await page.getByText("History and webhooks").click();
  await page.getByRole("button", { name: "Add webhook" }).click();
  await dialog.getByLabel("URL").fill("https://hooks.example.com/b");
  await dialog.getByRole("button", { name: "Add webhook" }).click();
  await dialog.getByRole("heading", { name: "Store the signing secret now" }).waitFor();
  await look(page, "dialog-signing-secret");
  await dialog.getByRole("button", { name: "I have stored it" }).click();
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
