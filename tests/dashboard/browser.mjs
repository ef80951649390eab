// Chromium, driven by playwright-core. Its windows record requests, errors and policy violations.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { chromium } from "playwright-core";

import { root } from "./server.mjs";

const axe = readFileSync(join(root, "tests/dashboard/node_modules/axe-core/axe.min.js"), "utf8");

export const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
    // This proxy does not exist, so a request to another host fails.
    proxy: { server: "http://127.0.0.1:9", bypass: "127.0.0.1" },
  });

// Opens a window. `seen` collects its requests, errors and violations of the content security
// policy. Requests to the API have the given token; without a token, no user is signed in.
export async function open(browser, { url, token, width = 1280, height = 800, scheme = "light", forced = "none" }) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, forcedColors: forced });
  context.setDefaultTimeout(20_000);
  if (token) {
    await context.route(`${url}/api/**`, (route) =>
      route.continue({ headers: { ...route.request().headers(), authorization: `Bearer ${token}` } }),
    );
  }
  const page = await context.newPage();
  const seen = { requests: [], problems: [], headers: [] };
  page.on("request", (request) => {
    seen.requests.push({ method: request.method(), url: request.url() });
    seen.headers.push(request.headers());
  });
  page.on("pageerror", (error) => seen.problems.push(String(error)));
  // Chromium logs each response of 400 and above.
  page.on("console", (message) => {
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) seen.problems.push(message.text());
  });
  await page.exposeFunction("reportViolation", (text) => seen.problems.push(text));
  await page.addInitScript(() =>
    document.addEventListener("securitypolicyviolation", (event) =>
      window.reportViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
    ),
  );
  return { page, context, seen };
}

// Returns the findings of axe, as strings.
export const findings = (page) =>
  page.evaluate(`${axe}; axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + " " + html.slice(0, 120))))`);

// Refuses the event streams of a window. A stream begins with an event, after which the page loads the
// comparison again, at any time in the test.
export const withoutEvents = (context) => context.route("**/watch", (route) => route.fulfill({ status: 204 }));

// Opens a project, and waits for its grid.
export async function openGrid(page, url, project, query = "") {
  await page.goto(`${url}/projects/${project}${query}`);
  await page.locator("#grid").waitFor();
}

// Returns the cell of a key and an environment, by the beginning of its name.
export const cell = (page, key, environment) =>
  page.locator(`#grid [role="gridcell"]`).and(page.getByRole("gridcell", { name: new RegExp(`^${key}, ${environment}, `) }));

// Moves to the cell of the first key that contains a text, with the keyboard.
export async function goTo(page, key, environment) {
  const names = await page.locator("#grid .heads .name").allTextContents();
  await page.locator("#filter").fill(key);
  await page.waitForFunction((key) => [...document.querySelectorAll("#grid [role=rowheader] .name")].every(({ textContent }) => textContent.includes(key)), key);
  await page.locator("#filter").press("Enter");
  await page.locator("#grid").press("Control+Home");
  for (let step = 0; step <= names.indexOf(environment); step++) await page.locator("#grid").press("ArrowRight");
  await page.waitForFunction(([key, environment]) => document.querySelector("#grid .active")?.getAttribute("aria-label")?.startsWith(key) && document.querySelector("#grid .active").getAttribute("aria-label").split(", ")[1] === environment, [key, environment]);
}

// Closes windows, after a check that no page reported a problem. Empties the list.
export async function closeAll(windows) {
  for (const { context, seen } of windows.splice(0)) {
    assert.deepEqual(seen.problems, []);
    await context.close();
  }
}
