// JavaScript API of the service: a namespace for each noun with a method for each verb, generated
// from the operation names that the module exports.

import { Service as Native, operations, verifyWebhook as verify } from "./full/secrets.js";

const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

export class Session {
  #native;

  constructor(native) {
    this.#native = native;
  }

  async call(name, input) {
    return this.#native.call(name, input);
  }
}

export class Service {
  #native;

  constructor(native) {
    this.#native = native;
  }

  static async memory(options = {}) {
    return new Service(await Native.memory(options));
  }

  async signIn(person) {
    return new Session(await this.#native.signIn(person));
  }

  asToken(text) {
    return new Session(this.#native.asToken(text));
  }
}

// Defines `session.secret.create` for `secret.create`, and so on. Call after the module is loaded.
export function nameOperations() {
  for (const [noun, names] of byNoun(operations())) {
    const verbs = names.map((name) => [camel(name.slice(noun.length + 1)), name]);
    Object.defineProperty(Session.prototype, camel(noun), {
      get() {
        const methods = verbs.map(([verb, name]) => [verb, (input) => this.call(name, input)]);
        return Object.freeze(Object.fromEntries(methods));
      },
    });
  }
}

function byNoun(names) {
  const nouns = new Map();
  for (const name of names) {
    const [noun] = name.split(".");
    nouns.set(noun, [...(nouns.get(noun) ?? []), name]);
  }
  return nouns;
}

// Accepts the request headers as `Headers` or as a plain object.
export function verifyWebhook({ headers, ...delivery }) {
  const header = (name) => (typeof headers?.get === "function" ? headers.get(name) : headers?.[name]);
  return verify({
    ...delivery,
    id: header("webhook-id"),
    timestamp: header("webhook-timestamp"),
    signature: header("webhook-signature"),
  });
}
