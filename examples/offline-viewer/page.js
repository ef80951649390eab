// User interface of the viewer. Secret values are kept only in `bundle`, and in the page while they
// are shown; `lock` drops them.
"use strict";

(() => {
  const $ = (id) => document.getElementById(id);
  const KINDS = { scbk_: "key", scbx_: "privateKey", scbs_: "signer", scbp_: "publicKey" };
  const HIDDEN = "••••••••";

  let bytes, bundle, worker;
  // Pending requests to the worker, which answers them in order.
  const waiting = [];
  let working = false;

  // The worker and its module.

  const module = (async () => {
    const binary = Uint8Array.from(atob($("module").textContent), (letter) => letter.charCodeAt(0));
    return WebAssembly.compile(binary);
  })();
  // An error is reported when a bundle is opened.
  module.catch(() => {});

  async function start() {
    const address = URL.createObjectURL(new Blob([$("worker").textContent], { type: "text/javascript" }));
    worker = new Worker(address);
    URL.revokeObjectURL(address);
    const answered = ({ data }) => {
      const { resolve, reject } = waiting.shift();
      "error" in data ? reject(data.error) : resolve(data.value);
    };
    worker.onmessage = answered;
    worker.onerror = () => stop({ kind: "internal", message: "" });
    worker.postMessage({ module: await module });
  }

  async function ask(task) {
    const answer = new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    try {
      if (!worker) await start();
      worker?.postMessage(task);
    } catch {
      stop({ kind: "internal", message: "" });
    }
    return answer;
  }

  function stop(why = { kind: "cancelled" }) {
    worker?.terminate();
    worker = undefined;
    for (const { reject } of waiting.splice(0)) reject(why);
  }

  // Messages.

  const say = (text) => ($("status").textContent = text);

  const PROBLEMS = {
    tampered: [
      "This file was changed after it was sealed.",
      "Its values cannot be trusted, so none is shown. Get the file again from its source, or ask for a new bundle.",
    ],
    expired: ["This bundle has expired.", "Its creator set a time after which it cannot be opened. Ask for a new one."],
    stale: ["This bundle is too old.", "A newer one of the same environment has been opened. Ask for a new one."],
    unsupported: ["This bundle has a newer format.", "This page cannot open it. Use a newer version of this page."],
    internal: ["This browser cannot open the bundle.", "Try again, or use a newer browser: the page needs WebAssembly and workers."],
  };

  function problemOf({ kind, message }, { use, signer }) {
    switch (kind) {
      case "no_recipient": {
        const what = { passphrase: "passphrase", key: "key", privateKey: "private key" }[use];
        const hint = use === "passphrase" ? "Capital letters and spaces count. " : "";
        return [`This ${what} does not open the bundle.`, `${hint}Make sure that it belongs to this file, and that the file is complete.`];
      }
      case "untrusted":
        return signer
          ? ["This bundle has another signer.", "It is not from the signer that you named. Do not use it before you know why."]
          : ["The signer is required.", "Anyone can make a bundle for a private key; only the signer shows whether it is genuine."];
      case "malformed":
        return ["This file is not a complete bundle.", `It is another kind of file, or was changed or truncated. (${message})`];
      default:
        return PROBLEMS[kind] ?? ["This bundle cannot be opened.", message];
    }
  }

  function showMessage(place, problem) {
    $(place).hidden = !problem;
    [$(`${place}-title`).textContent, $(`${place}-text`).textContent] = problem ?? ["", ""];
  }

  // Shows a problem with one field and focuses the field.
  function refuse(id, title, text) {
    $(id).setAttribute("aria-invalid", "true");
    showMessage("problem", [title, text]);
    $(id).focus();
  }

  function clearProblem() {
    showMessage("problem");
    for (const id of ["file", "secret", "signer"]) $(id).removeAttribute("aria-invalid");
  }

  // Choosing a file.

  const sizeOf = (count) => (count < 10_000 ? `${count} bytes` : count < 1e7 ? `${Math.round(count / 1000)} kB` : `${Math.round(count / 1e6)} MB`);

  async function choose(file) {
    if (!file) return;
    clearProblem();
    try {
      bytes = new Uint8Array(await file.arrayBuffer());
    } catch {
      bytes = undefined;
      return refuse("file", "This file cannot be read.", "It may have been moved. Choose it again.");
    }
    document.querySelector(".drop").classList.add("chosen");
    $("file-hint").textContent = `${file.name} (${sizeOf(bytes.length)})`;
    say(`Chosen: ${file.name}`);
  }

  const useOf = (text) => KINDS[text.slice(0, 5)] ?? "passphrase";

  function recognise() {
    const use = useOf($("secret").value.trim());
    const hints = {
      key: "This is the key of a bundle.",
      privateKey: "This is a private key: enter the signer of the bundle below.",
      signer: "This is a signer and cannot open a bundle.",
      publicKey: "This is a public key and cannot open a bundle. The private key begins with scbx_.",
      passphrase: "This is used as a passphrase.",
    };
    $("secret-hint").textContent = $("secret").value ? hints[use] : "A key begins with scbk_, a private key with scbx_.";
    if (use === "privateKey") $("signing").open = true;
  }

  // Opening.

  function setWorking(on) {
    working = on;
    $("open").textContent = on ? "Opening…" : "Open";
    $("open").classList.toggle("working", on);
    $("open").setAttribute("aria-disabled", String(on));
    $("form").setAttribute("aria-busy", String(on));
    $("cancel").hidden = !on;
  }

  async function open(event) {
    event.preventDefault();
    if (working) return;
    clearProblem();
    const typed = $("secret").value;
    const use = useOf(typed.trim());
    const signer = $("signer").value.trim() || undefined;
    if (!bytes) return refuse("file", "No file is chosen.", "Choose the bundle first.");
    if (!typed) return refuse("secret", "The passphrase or key is missing.", "Type the passphrase or key of this bundle.");
    if (!["passphrase", "key", "privateKey"].includes(use)) return refuse("secret", "This cannot open a bundle.", $("secret-hint").textContent);
    if (use === "privateKey" && !signer) {
      $("signing").open = true;
      return refuse("signer", ...problemOf({ kind: "untrusted" }, { use }));
    }
    setWorking(true);
    say("Opening…");
    try {
      const options = { [use]: use === "passphrase" ? typed : typed.trim(), signer };
      bundle = await ask({ task: "open", bytes, options });
      show(signer);
    } catch (error) {
      stop();
      failed(error, { use, signer });
    } finally {
      setWorking(false);
    }
  }

  function failed(error, given) {
    say("");
    if (error.kind === "cancelled") return;
    if (error.kind !== "invalid") {
      showMessage("problem", problemOf(error, given));
      if (error.kind === "untrusted") $("signing").open = true;
      return $({ no_recipient: "secret", untrusted: "signer" }[error.kind] ?? "file").focus();
    }
    if (error.message.startsWith("signer")) {
      $("signing").open = true;
      return refuse("signer", "This is not a signer.", "A signer begins with scbs_ and must be copied completely.");
    }
    const [title, text] =
      given.use === "passphrase"
        ? ["This is not a passphrase of a bundle.", "A passphrase has at least 12 characters."]
        : ["This key is not valid.", "Letters are missing or mistyped. Copy the whole key."];
    refuse("secret", title, text);
  }

  // Showing.

  const element = (name, { className, text, ...attributes } = {}, ...children) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
    made.append(...children);
    return made;
  };

  const moment = (text) => new Date(text).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });

  function fact(name, text, className = "") {
    return element("div", { className: className.includes("code") ? "wide" : "" }, element("dt", { text: name }), element("dd", { text, className }));
  }

  function show(checked) {
    const count = bundle.secrets.length;
    $("title").textContent = count === 1 ? "1 secret" : `${count} secrets`;
    document.title = $("title").textContent;
    $("facts").replaceChildren(
      fact("Created", moment(bundle.created_at)),
      fact("Expires", bundle.expires_at ? moment(bundle.expires_at) : "never"),
      checked ? fact("Signature", "valid, by the signer you named", "good") : fact("Signature", "valid; the signer was not checked"),
      fact("Environment", bundle.environment, "code"),
      fact("Signer", bundle.signer, "code"),
    );
    $("secrets").replaceChildren(...bundle.secrets.map(row));
    $("secrets").hidden = count === 0;
    $("search").hidden = count < 8;
    $("form").hidden = true;
    $("form").reset();
    $("opened").hidden = false;
    say(count === 0 ? "The bundle is valid and contains no secrets." : "Values are hidden until you show them.");
    $("title").focus();
  }

  function row(secret) {
    const value = element("div", { className: "value" });
    const peek = element("button", { type: "button", "aria-pressed": "false" });
    const copy = element("button", { type: "button", text: "Copy", "aria-label": `Copy the value of ${secret.key}` });
    const reveal = (on) => {
      peek.setAttribute("aria-pressed", String(on));
      peek.setAttribute("aria-label", `Show the value of ${secret.key}`);
      peek.textContent = on ? "Hide" : "Show";
      value.textContent = on ? secret.value || "empty" : HIDDEN;
      value.className = `value ${on ? (secret.value ? "" : "empty") : "hidden"}`;
      on ? value.removeAttribute("aria-label") : value.setAttribute("aria-label", "hidden");
      value.setAttribute("role", on ? "generic" : "img");
      if (on) value.removeAttribute("role");
    };
    peek.addEventListener("click", () => reveal(peek.getAttribute("aria-pressed") !== "true"));
    copy.addEventListener("click", () => copyValue(secret, copy));
    reveal(false);
    const about = [secret.description, secret.inherited_from && `from ${secret.inherited_from}`, `version ${secret.version}`];
    const text = element(
      "div",
      {},
      element("div", { className: "key", text: secret.key }),
      value,
      element("p", { className: "quiet", text: about.filter(Boolean).join(" · ") }),
    );
    const item = element("li", {}, text, element("div", { className: "row-actions" }, peek, copy));
    item.reveal = reveal;
    return item;
  }

  async function copyValue(secret, button) {
    const copied = await toClipboard(secret.value);
    say(copied ? `Copied the value of ${secret.key}.` : "This browser does not allow the page to copy. Show the value and copy it by hand.");
    if (!copied) return;
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  }

  async function toClipboard(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Fallback for browsers without a clipboard for pages opened from disk.
      const field = element("textarea", { className: "unseen", "aria-hidden": "true" });
      const focused = document.activeElement;
      field.value = text;
      document.body.append(field);
      field.select();
      const copied = document.execCommand("copy");
      field.remove();
      focused?.focus();
      return copied;
    }
  }

  function showAll() {
    const on = $("show-all").getAttribute("aria-pressed") !== "true";
    $("show-all").setAttribute("aria-pressed", String(on));
    $("show-all").textContent = on ? "Hide all values" : "Show all values";
    for (const item of $("secrets").children) item.reveal(on);
    say(on ? "All values are shown." : "All values are hidden.");
  }

  function filter() {
    const wanted = $("filter").value.trim().toLowerCase();
    let count = 0;
    for (const [index, item] of [...$("secrets").children].entries()) {
      item.hidden = !bundle.secrets[index].key.toLowerCase().includes(wanted);
      count += !item.hidden;
    }
    $("secrets").hidden = count === 0;
    $("none").hidden = count > 0;
    say(`${count} of ${bundle.secrets.length} keys`);
  }

  const NAMES = { dotenv: "secrets.env", json: "secrets.json", yaml: "secrets.yaml", shell: "secrets.sh", docker: "docker.env", csv: "secrets.csv", k8s: "secret.k8s.yaml" };

  async function download() {
    showMessage("unfit");
    const format = $("format").value;
    const secrets = bundle.secrets.map(({ key, value }) => ({ key, value }));
    try {
      const text = await ask({ task: "render", secrets, format, name: "secrets" });
      const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
      element("a", { href: address, download: NAMES[format] }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
      say(`Saved as ${NAMES[format]}: anyone with that file can read the values.`);
    } catch ({ kind, fields = [] }) {
      if (kind === "cancelled") return;
      const keys = fields.map(({ field, message }) => `${field} ${message}`).join("; ");
      showMessage("unfit", ["This format cannot represent all of these values.", `Choose JSON or YAML, which can. (${keys})`]);
    }
  }

  // Drops all data and returns to the form.
  function lock(said) {
    stop();
    bundle = bytes = undefined;
    $("secrets").replaceChildren();
    $("facts").replaceChildren();
    $("filter").value = "";
    $("none").hidden = true;
    showMessage("unfit");
    clearProblem();
    $("form").reset();
    $("form").hidden = false;
    $("signing").open = false;
    $("opened").hidden = true;
    $("show-all").setAttribute("aria-pressed", "false");
    $("show-all").textContent = "Show all values";
    document.querySelector(".drop").classList.remove("chosen");
    $("file-hint").textContent = "A bundle exported by the service";
    $("title").textContent = document.title = "Open a bundle";
    hideTyped(true);
    recognise();
    say(said);
    $("title").focus();
  }

  function hideTyped(hidden) {
    $("secret").type = hidden ? "password" : "text";
    $("peek").setAttribute("aria-pressed", String(!hidden));
  }

  $("form").addEventListener("submit", open);
  $("cancel").addEventListener("click", () => (stop(), $("open").focus()));
  $("file").addEventListener("change", () => choose($("file").files[0]));
  $("secret").addEventListener("input", recognise);
  $("peek").addEventListener("click", () => hideTyped($("secret").type === "text"));
  $("show-all").addEventListener("click", showAll);
  $("filter").addEventListener("input", filter);
  $("download").addEventListener("click", download);
  $("lock").addEventListener("click", () => lock("Locked. The values were removed."));
  addEventListener("pagehide", () => lock(""));
  // A file can be dropped anywhere on the page; the browser must not navigate to it.
  addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.toggle("dragging", $("opened").hidden);
  });
  for (const name of ["dragleave", "drop"]) addEventListener(name, () => document.body.classList.remove("dragging"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    if ($("opened").hidden && !working) choose(event.dataTransfer.files[0]);
  });
})();
