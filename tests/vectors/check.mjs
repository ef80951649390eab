// Checks the JavaScript module with the golden vectors, in Node.js and in a browser.

const ofHex = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (byte) => parseInt(byte, 16));

const ofBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

const expand = (value) =>
  typeof value === "string" ? value : (value.before ?? "") + value.repeat.repeat(value.times);

// Internal formats of the core, which JavaScript does not have. The Rust tests and the reference read
// these.
const OF_THE_CORE = ["proxy.json", "wrapped.json", "xaes.json"];

// Function that checks a vector, for each section; `null` if the section is not for JavaScript.
const FILES = {
  "bundle.json": { keys: bundleKey, vectors: bundle },
  "formats.json": { read, write },
  "record.json": { vectors: record, padding: null },
  "scan.json": { vectors: scan },
  "token.json": { vectors: token },
  "webhook.json": { vectors: webhook },
};

// Checks every vector of the named files, which must be all files of the folder. Returns the number of
// checked vectors of each file, and the mismatches.
export async function check(module, names, load) {
  const counts = {};
  const failures = [];
  const known = [...Object.keys(FILES), ...OF_THE_CORE].sort();
  if (String([...names].sort()) !== String(known)) failures.push(`the files are not ${known.join(", ")}`);
  for (const [file, checks] of Object.entries(FILES)) {
    counts[file] = 0;
    const sections = await load(file);
    if (String(Object.keys(sections).sort()) !== String(Object.keys(checks).sort())) {
      failures.push(`${file}: its sections are not ${Object.keys(checks).join(", ")}`);
    }
    for (const [section, one] of Object.entries(checks)) {
      if (!one) continue;
      for (const vector of sections[section] ?? []) {
        try {
          const isChecked = await one(module, vector, sections);
          if (isChecked !== false) counts[file] += 1;
        } catch (error) {
          failures.push(`${file}, ${section}, ${vector.name}: ${error.message}`);
        }
      }
    }
    if (counts[file] === 0) failures.push(`${file}: nothing was checked`);
  }
  return { counts, failures };
}

// Compares two values as JSON. The error does not contain the values.
function same(what, found, expected) {
  if (JSON.stringify(sorted(found)) !== JSON.stringify(sorted(expected))) throw new Error(`${what} differs`);
}

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).sort().map(([name, of]) => [name, sorted(of)]));
}

// Returns the kind of the thrown error, and its fields if it has any.
function refusal(call) {
  try {
    call();
  } catch (error) {
    if (!(error instanceof Error)) throw new Error("the thrown value is not an Error");
    return { kind: error.kind, ...(error.fields && { fields: error.fields }) };
  }
  throw new Error("was not refused");
}

function record(module, vector) {
  if (![0, 1].includes(vector.flags)) throw new Error("unknown flags");
  const sealed = {
    record: ofHex(vector.record),
    key: ofHex(vector.dek),
    keyVersion: vector.dek_ver,
    purpose: vector.purpose,
    hidden: vector.flags === 1,
    instance: vector.instance_id,
    project: vector.project_id,
    environment: vector.environment_id,
    object: vector.object_id,
    keyName: vector.key_name,
    version: BigInt(vector.version),
  };
  if (vector.valid) same("the value", module.openRecord(sealed), expand(vector.value));
  else same("the refusal", refusal(() => module.openRecord(sealed)), { kind: "undecryptable" });
}

function token(module, vector) {
  // A token with a wrong length counts as plausible, because the server looks up the token.
  const expected = vector.valid || vector.reason === "length";
  same("whether it is plausible", module.isPlausibleToken(vector.token), expected);
}

function webhook(module, vector) {
  const headers = { "webhook-id": vector.id, "webhook-timestamp": vector.timestamp, "webhook-signature": vector.signature };
  const { secret, body, now } = vector;
  for (const sent of [body, new TextEncoder().encode(body)]) {
    const verify = () => module.verifyWebhook({ secret, headers, body: sent, now });
    if (vector.valid) verify();
    else same("the refusal", refusal(verify), { kind: vector.reason });
  }
}

function read(module, vector) {
  const parse = () => module.parse(vector.text, vector.format);
  if (vector.error) same("the refusal", refusal(parse), refusalOf(vector.error));
  else same("what is read", parse(), vector.secrets);
}

function write(module, vector) {
  const render = () => module.render(vector.secrets, vector.format, vector.name_of_object);
  if (vector.error) same("the refusal", refusal(render), refusalOf(vector.error));
  else same("what is written", render(), vector.text);
}

// The name of the field contains the index in the list.
function refusalOf({ kind, fields }) {
  const place = ({ field }) => /^secrets\[(\d+)\]/.exec(field)?.[1];
  return { kind, fields: fields.map((it) => (place(it) ? { ...it, index: Number(place(it)) } : it)) };
}

function scan(module, vector) {
  const text = vector.text.replaceAll("¦", "");
  same("what is found", module.scan(text, vector.path), vector.found);
}

const USES = { key: "key", passphrase: "passphrase", private: "privateKey" };

function bundle(module, vector, { vectors }) {
  const { unlock, signer, at_least: atLeast, now, about } = vector;
  const options = { [USES[unlock.type]]: unlock.text, ...(signer !== undefined && { signer }), atLeast, now };
  const file = bytesOf(vector, vectors);
  const open = () => module.openBundle(file, options);
  if (!vector.valid) return same("the refusal", refusal(open), { kind: vector.error });
  const { created: created_at, expires: expires_at, ...rest } = about;
  const secrets = vector.secrets.map((secret) => ({ ...secret, value: expand(secret.value) }));
  same("what opens", open(), { ...rest, created_at, ...(expires_at && { expires_at }), secrets });
}

function bytesOf({ bundle, parts }, vectors) {
  if (bundle !== undefined) return ofBase64(bundle);
  const pieces = parts.map((part) => {
    if (typeof part === "string") return ofBase64(part);
    return bytesOf(vectors.find(({ name }) => name === part.of), vectors).subarray(part.from, part.to);
  });
  return Uint8Array.from(pieces.flatMap((piece) => [...piece]));
}

// Opens the golden bundle with the key: a valid key of another bundle fails only there. Public keys
// are not checked.
function bundleKey(module, { kind, text, valid }, { vectors: [golden] }) {
  const given = {
    key: { key: text },
    private: { privateKey: text, signer: golden.about.signer },
    signer: { [USES[golden.unlock.type]]: golden.unlock.text, signer: text },
  }[kind];
  if (!given) return false;
  const file = ofBase64(golden.bundle);
  const found = outcome(() => module.openBundle(file, { ...given, now: golden.now }));
  same("whether it is one", found !== "invalid", valid);
}

function outcome(call) {
  try {
    call();
  } catch (error) {
    return error.kind;
  }
}
