// Prints the counts and times of the table "Speed" in docs/dashboard.md, as medians of several runs. Not part of
// tests/run, because times depend on the machine; `speed.test.mjs` limits the counts. The service is the debug build with
// SQLite. Usage: node tests/dashboard/measure.mjs [NAME...], with names of `MEASURES`

import { launch, open, recordGrid } from "./browser.mjs";
import { caller, createLarge } from "./data.mjs";
import { devLink, devToken, startDev } from "./server.mjs";

const RUNS = 7;

// Network of the second column: round-trip time in milliseconds, and bytes per second.
const SLOW = { offline: false, latency: 100, downloadThroughput: 1_250_000, uploadThroughput: 1_250_000 };

const server = await startDev("dashboard-measure", { SECRETS_RATE_LIMIT_PER_IP: "0", SECRETS_RATE_LIMIT_PER_PRINCIPAL: "0", SECRETS_RATE_LIMIT_PER_TEAM: "0" });
const token = devToken(server);
const call = caller(server.url, token);
await call("POST", "/auth/sync");
const { slug } = await createLarge(call);
const browser = await launch();
const { page: first, context } = await open(browser, { url: server.url });
await first.goto(devLink(server));
await first.locator(".items").waitFor();
await first.close();

const middle = (numbers) => [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)];
const median = async (measure) => {
  const found = [];
  for (let run = 0; run < RUNS; run++) found.push(await measure());
  return Array.isArray(found[0]) ? found[0].map((_, place) => middle(found.map((one) => one[place]))) : middle(found);
};

// Opens a page with a session of the DevTools protocol.
async function opened() {
  const page = await context.newPage();
  await recordGrid(page);
  return { page, devtools: await context.newCDPSession(page) };
}

async function show(page) {
  await page.goto(`${server.url}/projects/${slug}`);
  await page.waitForFunction(() => window.shownAt !== undefined);
}

// First contentful paint and time until the grid is shown, in milliseconds.
async function visit({ network, isFirst }) {
  const { page, devtools } = await opened();
  await devtools.send("Network.enable");
  if (isFirst) await devtools.send("Network.clearBrowserCache");
  if (network) await devtools.send("Network.emulateNetworkConditions", network);
  await show(page);
  await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length);
  const times = await page.evaluate(() => [performance.getEntriesByName("first-contentful-paint")[0].startTime, window.shownAt].map(Math.round));
  await page.close();
  return times;
}

// Duration of a request for a comparison without compression, in milliseconds.
async function comparison() {
  const begun = performance.now();
  const response = await fetch(`${server.url}/api/v1/projects/${slug}/compare`, { headers: { authorization: `Bearer ${token}`, "accept-encoding": "identity" } });
  await response.arrayBuffer();
  return Math.round(performance.now() - begun);
}

// Scrolls from top to bottom by 120 pixels in each frame, with a processor that is slowed by a factor: frames per second,
// number of tasks of 50 ms and more, longest task in milliseconds, maximum number of elements in the grid, and processor time
// of the main thread for each frame, in milliseconds. The last depends little on the load of the machine.
async function scrolling(factor) {
  const { page, devtools } = await opened();
  await show(page);
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: factor });
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  const used = async () => (await devtools.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value;
  const before = await used();
  const found = await page.evaluate(async () => {
    const tasks = [];
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" });
    const grid = document.getElementById("grid");
    const frame = () => new Promise(requestAnimationFrame);
    await frame();
    const begun = performance.now();
    let [frames, elements] = [0, 0];
    for (let top = 0; top < grid.scrollHeight; top += 120, frames++) {
      grid.scrollTop = top;
      await frame();
      elements = Math.max(elements, grid.querySelectorAll("*").length);
    }
    const seconds = (performance.now() - begun) / 1000;
    return { frames, values: [Math.round(frames / seconds), tasks.length, Math.round(Math.max(0, ...tasks)), elements] };
  });
  const time = ((await used()) - before) / found.frames;
  await page.close();
  return [...found.values, Math.round(time * 10_000) / 10];
}

// Time from an event until the page has changed as a result: a key press that moves the focus, and a letter in the filter.
async function reactions() {
  const { page } = await opened();
  await show(page);
  const react = async (target, type, attribute, act) => {
    await page.evaluate(([type, attribute]) => {
      const grid = document.getElementById("grid");
      window.took = undefined;
      addEventListener(type, ({ timeStamp }) => {
        const observer = new MutationObserver(() => {
          window.took ??= performance.now() - timeStamp;
          observer.disconnect();
        });
        observer.observe(grid, attribute ? { attributes: true, attributeFilter: [attribute] } : { childList: true, subtree: true });
      }, { capture: true, once: true });
    }, [type, attribute]);
    await page.locator(target).focus();
    await act();
    await page.waitForFunction(() => window.took !== undefined);
    return page.evaluate(() => Math.round(window.took * 10) / 10);
  };
  const key = await react("#grid", "keydown", "aria-activedescendant", () => page.keyboard.press("ArrowDown"));
  const filter = await react("#filter", "input", null, () => page.keyboard.type("7"));
  await page.close();
  return [key, filter];
}

const MEASURES = {
  first: () => median(() => visit({ isFirst: true })),
  slow: () => median(() => visit({ isFirst: true, network: SLOW })),
  second: () => median(() => visit({ isFirst: false })),
  comparison: () => median(comparison),
  scrolling: () => median(() => scrolling(1)),
  "slow-scrolling": () => median(() => scrolling(4)),
  reactions: () => median(reactions),
};

const names = process.argv.slice(2);
for (const [name, measure] of Object.entries(MEASURES)) {
  if (!names.length || names.includes(name)) console.log(`${name}: ${await measure()}`);
}

await browser.close();
await server.close();
