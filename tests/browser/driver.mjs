// Controls headless Chromium with WebDriver (W3C) over HTTP, and with its extension for the
// DevTools protocol.

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

const KEYS = { Tab: "\ue004", Enter: "\ue007", Shift: "\ue008", Escape: "\ue00c", Space: " ", End: "\ue010" };
const ELEMENT = "element-6066-11e4-a52e-4f735466cecf";

const ARGUMENTS = [
  "--headless=new",
  "--disable-dev-shm-usage",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--hide-scrollbars",
];

export class Browser {
  #driver;
  #url;
  #session;

  // Starts a browser with a new profile in `folder`.
  static async open({ folder, width = 1000, height = 800 }) {
    const browser = new Browser();
    browser.#driver = spawn(process.env.CHROMEDRIVER ?? "chromedriver", ["--port=0"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      browser.#url = `http://127.0.0.1:${await portOf(browser.#driver)}`;
      const started = await browser.#ask("POST", "/session", capabilities(folder));
      browser.#session = started.sessionId;
      await browser.resize(width, height);
      // Leaves the browser's own start page, whose requests do not count.
      await browser.goTo("about:blank");
      await browser.requests();
    } catch (error) {
      await browser.close();
      throw error;
    }
    return browser;
  }

  async close() {
    if (this.#session) await this.#do("DELETE", "").catch(() => {});
    this.#session = undefined;
    this.#driver.kill();
  }

  goTo(url) {
    return this.#do("POST", "/url", { url });
  }

  // Runs a function in the page and returns its result; awaits a promise.
  async run(script, ...args) {
    const body = `const done = arguments[arguments.length - 1];
      Promise.resolve().then(() => (${script})(...[...arguments].slice(0, -1)))
        .then((value) => done({ value }), (error) => done({ error: String(error?.stack ?? error) }));`;
    const { value, error } = await this.#do("POST", "/execute/async", { script: body, args });
    if (error !== undefined) throw new Error(`in the page: ${error}`);
    return value;
  }

  // Runs a function in the page until it returns true.
  async until(script, { seconds = 20, args = [] } = {}) {
    const end = Date.now() + seconds * 1000;
    for (;;) {
      const value = await this.run(script, ...args);
      if (value) return value;
      if (Date.now() > end) throw new Error(`not within ${seconds} s: ${script}`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  // Presses keys one after the other: names such as `Tab`, `Shift+Tab`, or a character.
  press(...keys) {
    const actions = keys.flatMap((key) => {
      const held = key.length > 1 ? key.split("+").map((name) => KEYS[name] ?? name) : [key];
      const down = held.map((value) => ({ type: "keyDown", value }));
      return [...down, ...held.reverse().map((value) => ({ type: "keyUp", value }))];
    });
    return this.#do("POST", "/actions", { actions: [{ type: "key", id: "keyboard", actions }] });
  }

  type(text) {
    return this.press(...text);
  }

  async click(selector) {
    return this.#do("POST", `/element/${await this.#find(selector)}/click`, {});
  }

  // Clicks a button that sends a form, and waits for the next page.
  async submit(selector) {
    const page = await this.#find("html");
    await this.click(selector);
    const end = Date.now() + 20_000;
    // No element exists between two pages.
    while ((await this.#find("html").catch(() => page)) === page) {
      if (Date.now() > end) throw new Error(`no next page within 20 s: ${selector}`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    await this.until(() => document.readyState === "complete");
  }

  // Chooses a file, as in the file dialog.
  async choose(selector, path) {
    return this.#do("POST", `/element/${await this.#find(selector)}/value`, { text: path });
  }

  devTools(cmd, params = {}) {
    return this.#do("POST", "/goog/cdp/execute", { cmd, params });
  }

  resize(width, height, deviceScaleFactor = 1) {
    const metrics = { width, height, deviceScaleFactor, mobile: false };
    return this.devTools("Emulation.setDeviceMetricsOverride", metrics);
  }

  // Sets the user preferences of the page: `dark`, `light`, `reduce` (motion).
  prefer(features) {
    const list = Object.entries(features).map(([name, value]) => ({ name: `prefers-${name}`, value }));
    return this.devTools("Emulation.setEmulatedMedia", { features: list });
  }

  async screenshot(path, { whole = false } = {}) {
    const { data } = await this.devTools("Page.captureScreenshot", { captureBeyondViewport: whole });
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, Buffer.from(data, "base64"));
  }

  // Returns the role and name of all nodes of the accessibility tree that are not ignored.
  async accessible() {
    const { nodes } = await this.devTools("Accessibility.getFullAXTree");
    return nodes
      .filter(({ ignored }) => !ignored)
      .map(({ role, name, value, properties = [] }) => ({
        role: role?.value,
        name: name?.value ?? "",
        value: value?.value,
        ...Object.fromEntries(properties.map((it) => [it.name, it.value.value])),
      }));
  }

  // Returns the addresses requested since the last call.
  async requests() {
    const entries = await this.#do("POST", "/se/log", { type: "performance" });
    return entries
      .map(({ message }) => JSON.parse(message).message)
      .filter(({ method }) => method === "Network.requestWillBeSent")
      .map(({ params }) => params.request.url);
  }

  // Returns the console messages since the last call.
  async complaints() {
    const entries = await this.#do("POST", "/se/log", { type: "browser" });
    return entries.map(({ level, message }) => `${level} ${message}`);
  }

  async #find(selector) {
    const found = await this.#do("POST", "/element", { using: "css selector", value: selector });
    return found[ELEMENT];
  }

  #do(method, path, body) {
    return this.#ask(method, `/session/${this.#session}${path}`, body);
  }

  async #ask(method, path, body) {
    const answer = await fetch(this.#url + path, {
      method,
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(120_000),
    });
    const { value } = await answer.json();
    if (!answer.ok) throw new Error(`${method} ${path}: ${value.error}: ${value.message}`);
    return value;
  }
}

function capabilities(folder) {
  const args = [...ARGUMENTS, `--user-data-dir=${folder}`];
  // The sandbox works neither as root nor without user namespaces.
  const hasSandbox = process.getuid?.() !== 0 && spawnSync("unshare", ["-U", "true"]).status === 0;
  if (!hasSandbox) args.push("--no-sandbox");
  const always = {
    browserName: "chrome",
    timeouts: { script: 60_000 },
    "goog:chromeOptions": { args, ...(process.env.CHROMIUM && { binary: process.env.CHROMIUM }) },
    "goog:loggingPrefs": { performance: "ALL", browser: "ALL" },
  };
  return { capabilities: { alwaysMatch: always } };
}

function portOf(driver) {
  return new Promise((resolve, reject) => {
    let output = "";
    driver.stdout.on("data", (piece) => {
      output += piece;
      const port = /started successfully on port (\d+)/.exec(output);
      if (port) resolve(port[1]);
    });
    driver.once("error", reject);
    driver.once("exit", () => reject(new Error(`chromedriver ended: ${output}`)));
  });
}
