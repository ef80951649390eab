// Verification of webhook deliveries.

import { bytesIfAny, isObject, options } from "./arguments.js";
import { attempt, invalid, SecretsError } from "./errors.js";

const OPTIONS = ["secret", "headers", "body", "now"];

const malformed = (message) => new SecretsError("malformed", message);

// Returns the function `verifyWebhook` that calls a loadable module.
export function webhookVerifier(module) {
  return function verifyWebhook(delivery) {
    const { headers, body, ...others } = options("verifyWebhook", delivery, OPTIONS);
    const header = reader(headers);
    const given = {
      ...others,
      id: header("webhook-id"),
      timestamp: header("webhook-timestamp"),
      signature: header("webhook-signature"),
      body: content(body),
    };
    attempt(verifyWebhook, () => module.functions.verifyWebhook(given));
  };
}

function content(body) {
  const found = typeof body === "string" ? body : bytesIfAny(body);
  if (found === undefined) throw invalid("body must be the raw body: a string, an ArrayBuffer or a view of one");
  return found;
}

// Returns a function that reads a header. Names in an object or a `Map` are compared without case:
// some servers pass headers on as they were sent.
function reader(headers) {
  if (!isObject(headers)) throw invalid("headers must be Headers, a Map or an object");
  const entries = headers instanceof Map ? [...headers] : Object.entries(headers);
  const isHeaders = typeof headers.get === "function" && !(headers instanceof Map);
  return (name) => {
    const found = isHeaders ? [headers.get(name)] : values(entries, name);
    const [value, ...more] = found.flat().filter((one) => one !== undefined && one !== null);
    if (value === undefined) throw malformed(`header ${name} is missing`);
    if (more.length > 0) throw malformed(`header ${name} is given more than once`);
    if (typeof value !== "string") throw malformed(`header ${name} must be a string`);
    return value;
  };
}

function values(entries, name) {
  return entries.filter(([one]) => String(one).toLowerCase() === name).map(([, value]) => value);
}
