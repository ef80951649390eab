// Results whose secret values are not shown by `console.log` in Node.js.

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

// Fields that contain a secret value.
const FIELDS = new Set(["accept_url", "access_token", "device_code", "secret", "text", "token", "value"]);

const HIDDEN = Object.freeze({ [INSPECT]: () => "[hidden]" });

// Marks the objects of a result, at any depth. The mark is a property that is not enumerable, so that
// comparing, copying and `JSON.stringify` do not see it.
export function hide(result) {
  if (typeof result !== "object" || result === null) return result;
  let hasSecret = false;
  for (const name of Object.keys(result)) {
    hide(result[name]);
    hasSecret ||= isSecret(name, result[name]);
  }
  return hasSecret ? Object.defineProperty(result, INSPECT, { value: withoutSecrets }) : result;
}

// Marks an object whose values are all secret.
export function hideAll(values) {
  return Object.defineProperty(values, INSPECT, { value: withoutValues });
}

function isSecret(name, value) {
  if (typeof value === "string") {
    // A bundle key. Any other `key` is the name of a secret.
    return FIELDS.has(name) || (name === "key" && value.startsWith("scbk_"));
  }
  // A map of values by key.
  return name === "secrets" && typeof value === "object" && value !== null && !Array.isArray(value);
}

// Called with the marked object as `this`.
function withoutSecrets() {
  return masked(this, isSecret);
}

function withoutValues() {
  return masked(this, () => true);
}

function masked(object, isHidden) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, isHidden(name, value) ? HIDDEN : value]));
}
