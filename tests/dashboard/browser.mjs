// Chromium, driven by playwright-core. Its windows record requests, errors and policy violations.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { chromium } from "playwright-core";

import { root } from "./server.mjs";

const axe = readFileSync(join(root, "tests/dashboard/node_modules/axe-core/axe.min.js"), "utf8");

// Colors that the operating system of a user may ask for.
const COLORS = {
  light: { colorScheme: "light", forcedColors: "none" },
  dark: { colorScheme: "dark", forcedColors: "none" },
  forced: { colorScheme: "light", forcedColors: "active" },
};

// Starts Chromium, with the given further arguments.
export function launch(args = []) {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: process.getuid?.() === 0 ? ["--no-sandbox", ...args] : args,
    // This proxy does not exist, so a request to another host fails.
    proxy: { server: "http://127.0.0.1:9", bypass: "127.0.0.1" },
  });
}

// Opens a window. `seen` collects its requests, errors and violations of the content security
// policy. Requests to the API have the given token; without a token, no user is signed in. `options` are those of the
// browser's context.
export async function open(browser, { url, token, width = 1280, height = 800, options = {} }) {
  const context = await browser.newContext({ viewport: { width, height }, ...COLORS.light, ...options });
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

// Windows in which `look` is called: a wide one, and one of a phone.
export const SIZES = { wide: {}, narrow: { width: 320, height: 640 } };

// Returns the findings of axe, as strings. Without names of rules, all rules are checked.
async function findings(page, rules) {
  if (!(await page.evaluate("typeof axe === 'object'"))) await page.evaluate(axe);
  const options = { resultTypes: ["violations"], ...(rules && { runOnly: rules }) };
  return page.evaluate(`axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + " " + html.slice(0, 120))))`);
}

// The rules of axe that depend on colors.
const OF_COLORS = ["color-contrast", "link-in-text-block"];

// Checks the screen in all colors: axe finds nothing, and neither the page nor a dialog scrolls sideways. Rules that do
// not depend on colors are checked once. Errors contain the name.
export async function look(page, name) {
  const size = page.viewportSize().width < 600 ? "-narrow" : "";
  for (const [colors, media] of Object.entries(COLORS)) {
    await page.emulateMedia(media);
    const title = `${name}${size}-${colors}`;
    assert.deepEqual(await findings(page, colors === "light" ? undefined : OF_COLORS), [], title);
    const wide = await page.evaluate(() =>
      [document.documentElement, ...document.querySelectorAll("dialog > .content")].some(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth),
    );
    assert.equal(wide, false, `${title} scrolls sideways`);
  }
  await page.emulateMedia(COLORS.light);
}

// Leaves the event streams of a window without a response. A stream begins with an event, after which the page loads the
// comparison again, at any time in the test.
export const withoutEvents = (context) => context.route("**/watch", () => {});

// Opens a project, and waits for its grid.
export async function openGrid(page, url, project, query = "") {
  await page.goto(`${url}/projects/${project}${query}`);
  await page.locator("#grid").waitFor();
}

// Records the time at which a page shows the grid, as `window.shownAt` of the page.
export const recordGrid = (page) =>
  page.addInitScript(() => {
    const observer = new MutationObserver(() => {
      if (!document.querySelector("#grid [role=gridcell]")) return;
      observer.disconnect();
      window.shownAt = performance.now();
    });
    observer.observe(document, { subtree: true, childList: true });
  });

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
