// Results whose secret values are not shown by `console.log` in Node.js, Deno and Bun.

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

// Fields that contain a secret value.
const FIELDS = ["accept_url", "access_token", "device_code", "secret", "text", "token", "value"];

const HIDDEN = Object.freeze({ [INSPECT]: () => "[hidden]" });

// Marks the objects of a result, at any depth. The mark is a property that is not enumerable, so that
// comparing, copying and `JSON.stringify` do not see it.
export function hide(result) {
  if (typeof result !== "object" || result === null) return result;
  for (const part of Object.values(result)) hide(part);
  if (!Array.isArray(result)) mark(result, isSecret);
  return result;
}

// Marks an object whose values are all secret.
export function hideAll(values) {
  return mark(values, () => true);
}

function mark(object, isHidden) {
  const names = Object.keys(object).filter((name) => isHidden(name, object[name]));
  if (names.length === 0) return object;
  const shown = () => ({ ...object, ...Object.fromEntries(names.map((name) => [name, HIDDEN])) });
  return Object.defineProperty(object, INSPECT, { value: shown });
}

function isSecret(name, value) {
  if (typeof value === "string") {
    // A bundle key. Any other `key` is the name of a secret.
    return FIELDS.includes(name) || (name === "key" && value.startsWith("scbk_"));
  }
  // A map of values by key.
  return name === "secrets" && typeof value === "object" && value !== null && !Array.isArray(value);
}
