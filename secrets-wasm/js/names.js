// Namespaces of operations: an object for each noun with a method for each verb.

import { ENDPOINTS } from "./endpoints.js";
import { ITERATORS } from "./iterators.js";

const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

// Defines `prototype.secret.create` for `secret.create`, and so on. The methods call `this.call`, and iterators
// call the methods. Each instance has its own namespaces, which a test can change.
export function nameOperations(prototype) {
  for (const [noun, verbs] of byNoun(Object.keys(ENDPOINTS))) {
    const namespaces = new WeakMap();
    Object.defineProperty(prototype, camel(noun), {
      get() {
        if (!namespaces.has(this)) {
          const namespace = {};
          for (const verb of verbs) namespace[camel(verb)] = (...given) => this.call(`${noun}.${verb}`, ...given);
          for (const [name, iterator] of Object.entries(ITERATORS[noun] ?? {})) {
            namespace[name] = (...given) => iterator(namespace, ...given);
          }
          namespaces.set(this, namespace);
        }
        return namespaces.get(this);
      },
    });
  }
}

function byNoun(names) {
  const nouns = new Map();
  for (const name of names) {
    const [noun, verb] = name.split(".");
    nouns.set(noun, [...(nouns.get(noun) ?? []), verb]);
  }
  return nouns;
}
