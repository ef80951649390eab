// Functions of the whole module, for all platforms. They can be called when the module is loaded.

import { text, textIfAny } from "./arguments.js";
import { attempt } from "./errors.js";
import { module } from "./full.js";
import { hide } from "./hidden.js";
import { openers } from "./open.js";
import { services } from "./service.js";
import { webhookVerifier } from "./webhook.js";

export const { openBundle, openRecord, isPlausibleToken } = openers(module);
export const { Service, Session } = services(module);
export const verifyWebhook = webhookVerifier(module);
export { Client } from "./client.js";
export { toRecord } from "./open.js";
export { SecretsError } from "./errors.js";

export function operations() {
  return attempt(operations, () => module.functions.operations());
}

export function parse(source, format) {
  const given = [text(source, "text"), text(format, "format")];
  return hide(attempt(parse, () => module.functions.parse(...given)));
}

export function render(secrets, format, name) {
  const given = [secrets, text(format, "format"), textIfAny(name, "name")];
  return attempt(render, () => module.functions.render(...given));
}

export function scan(source, path) {
  const given = [text(source, "text"), textIfAny(path, "path")];
  return attempt(scan, () => module.functions.scan(...given));
}
