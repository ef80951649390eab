// Keeps the grid open during live changes, and checks that the page shows all of them and does not grow. Usage, and the rule
// for growth: see tests/long/live

import { launch, open } from "../dashboard/browser.mjs";
import { caller, createLarge } from "../dashboard/data.mjs";
import { devLink, devToken, startDev } from "../dashboard/server.mjs";

const MINUTE = 60_000;
const DURATION = Number(process.argv[2] ?? 60) * MINUTE;

// Number of measurements.
const SAMPLES = 60;

// Number of times that the grid is used before the first measurement, and part of the measurements that is not evaluated.
const USES = 50;
const WARM_UP = 0.2;

// Time between two changes, and maximum time until the page shows a change, in milliseconds.
const PAUSE = 200;
const SHOWN_WITHIN = 10_000;

// Significance of a trend, and the part of the median by which a growing number rises.
const SIGNIFICANCE = 0.01;
const RISE = 0.01;

// Without optimizing compilers: they compile functions for hours, and compiled code is a part of the heap.
const FLAGS = ["--js-flags=--no-sparkplug,--no-maglev,--no-turbofan"];

const sleep = (time) => new Promise((resolve) => setTimeout(resolve, time));
const middle = (numbers) => [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)];

// Probability that a standard normal variable is greater than `z`, for `z` from 0 (Abramowitz and Stegun, 26.2.17).
function upperTail(z) {
  const t = 1 / (1 + 0.2316419 * z);
  const sum = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return (sum * Math.exp(-(z * z) / 2)) / Math.sqrt(2 * Math.PI);
}

// Trend of numbers that were measured at the given minutes: slope per minute (Theil-Sen), and significance of an upward trend
// (Mann-Kendall).
function trendOf(minutes, numbers) {
  const slopes = [];
  let score = 0;
  for (let later = 1; later < numbers.length; later++) {
    for (let earlier = 0; earlier < later; earlier++) {
      slopes.push((numbers[later] - numbers[earlier]) / (minutes[later] - minutes[earlier]));
      score += Math.sign(numbers[later] - numbers[earlier]);
    }
  }
  const count = numbers.length;
  // Equal numbers reduce the variance of the score.
  const times = [...new Set(numbers)].map((one) => numbers.filter((other) => other === one).length);
  const variance = [count, ...times].reduce((sum, n, place) => sum + (place ? -1 : 1) * n * (n - 1) * (2 * n + 5), 0) / 18;
  return { slope: middle(slopes), significance: score > 1 ? upperTail((score - 1) / Math.sqrt(variance)) : 1 };
}

const server = await startDev("dashboard-live-long", { SECRETS_RATE_LIMIT_PER_IP: "0", SECRETS_RATE_LIMIT_PER_PRINCIPAL: "0", SECRETS_RATE_LIMIT_PER_TEAM: "0" });
let call = caller(server.url, devToken(server));
await call("POST", "/auth/sync");
const { slug, names, keys } = await createLarge(call);
const browser = await launch(FLAGS);
const { page, context, seen } = await open(browser, { url: server.url });
await page.goto(devLink(server));
await page.locator(".items").waitFor();
await page.goto(`${server.url}/projects/${slug}`);
await page.locator("#grid").waitFor();
const devtools = await context.newCDPSession(page);

// Uses the grid: scrolls from top to bottom, moves the active cell, reveals and hides a value, and filters.
async function use() {
  await page.evaluate(async () => {
    const grid = document.getElementById("grid");
    for (let top = 0; top < grid.scrollHeight; top += grid.clientHeight) {
      grid.scrollTop = top;
      await new Promise(requestAnimationFrame);
    }
  });
  await page.locator("#grid").focus();
  for (const key of ["Control+End", "PageUp", "PageUp", "ArrowRight", "Control+Home", "ArrowRight", "PageDown", "PageDown", "Enter"]) await page.keyboard.press(key);
  await page.locator("#grid .value").waitFor();
  for (const key of ["Escape", "Control+Home"]) await page.keyboard.press(key);
  // Typed text would stay in the history of the field, for undo.
  for (const text of ["77", ""]) {
    await page.locator("#filter").evaluate((field, text) => {
      field.value = text;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }, text);
    await page.locator("#grid [aria-rowindex='2']").first().waitFor();
  }
}

// Makes changes until it is stopped: values of several environments, and a key that is deleted and created again.
let changes = 0;
function writer() {
  let isStopped = false;
  const one = async () => {
    const key = keys[(changes * 7) % keys.length];
    const environment = names[changes % names.length];
    const places = changes % 10 ? [environment, names[(changes + 1) % names.length]] : names;
    const action = (made) => places.map((environment) => ({ environment, key, ...made }));
    if (changes % 10 === 0) await call("POST", `/projects/${slug}/changes`, { changes: action({ action: "delete" }) });
    await call("POST", `/projects/${slug}/changes`, { changes: action({ action: "set", value: `kvc_${changes}` }) });
    changes += 1;
  };
  const done = (async () => {
    while (!isStopped) {
      await one();
      await sleep(PAUSE);
    }
  })();
  return () => {
    isStopped = true;
    return done;
  };
}

// Waits until the page holds this comparison and shows it. Returns the time in milliseconds; `null` if it does not. One
// function of the page, because the browser keeps a record of each script.
const shownAfter = (comparison) =>
  page.evaluate(
    async ({ comparison, within }) => {
      const { shownGrid } = await import(new URL("grid/state.js", document.querySelector("script[type=module]").src).href);
      const [{ key, cells }] = comparison.keys;
      const expected = cells.map((cell, place) => `${key}, ${comparison.environments[place].name}, own value, v${cell?.version}`);
      const isEqual = (one, other) => JSON.stringify(one) === JSON.stringify(other);
      const isShown = () => {
        const held = shownGrid.value.comparison.value;
        const labels = [...document.querySelectorAll("#grid .row[aria-rowindex='2'] [role=gridcell]")].map((cell) => cell.ariaLabel);
        return held.revision === comparison.revision && isEqual(held.keys, comparison.keys) && isEqual(labels, expected);
      };
      const begun = performance.now();
      while (!isShown()) {
        if (performance.now() - begun > within) return null;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return Math.round(performance.now() - begun);
    },
    { comparison, within: SHOWN_WITHIN },
  );

async function measured() {
  await devtools.send("HeapProfiler.collectGarbage");
  const { usedSize } = await devtools.send("Runtime.getHeapUsage");
  const { nodes, jsEventListeners } = await devtools.send("Memory.getDOMCounters");
  return { "heap in KiB": Math.round(usedSize / 1024), "DOM nodes": nodes, "event listeners": jsEventListeners };
}

for (let time = 0; time < USES; time++) await use();
const begun = performance.now();
const minutes = [];
const all = [];
let missed = 0;
for (let sample = 1; sample <= SAMPLES; sample++) {
  const stop = writer();
  await sleep(Math.max(1_000, begun + (sample * DURATION) / SAMPLES - performance.now()));
  await stop();
  const after = await shownAfter(await call("GET", `/projects/${slug}/compare`));
  missed += Number(after === null);
  minutes.push((performance.now() - begun) / MINUTE);
  await use();
  all.push(await measured());
  console.log(`minute ${minutes.at(-1).toFixed(1)}: ${changes} changes, ${after === null ? "not all shown" : `shown after ${after} ms`}, ${JSON.stringify(all.at(-1))}`);
  // A token is valid for a short time.
  call = caller(server.url, devToken(server));
}
await browser.close();
await server.close();

const first = Math.ceil(SAMPLES * WARM_UP);
let growing = 0;
for (const name of Object.keys(all[0])) {
  const numbers = all.slice(first).map((one) => one[name]);
  const { slope, significance } = trendOf(minutes.slice(first), numbers);
  const rise = (slope * (minutes.at(-1) - minutes[first])) / middle(numbers);
  const isGrowing = significance < SIGNIFICANCE && rise > RISE;
  growing += Number(isGrowing);
  console.log(`${name}: median ${middle(numbers)}, ${(slope * 60).toFixed(1)} an hour, ${(rise * 100).toFixed(2)} % in the time, significance ${significance.toFixed(3)}${isGrowing ? ": growing" : ""}`);
}
console.log(`${changes} changes, ${missed} of ${SAMPLES} times not all of them shown; ${growing} numbers grow; ${seen.problems.length} problems`);
console.log(seen.problems.join("\n"));
process.exitCode = missed || growing || seen.problems.length ? 1 : 0;
