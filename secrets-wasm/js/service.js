// Service in memory and its sessions.

import { bytes, checkDates, options, text } from "./arguments.js";
import { converted, invalid } from "./errors.js";
import { hide } from "./hidden.js";
import { nameOperations } from "./names.js";

// Returns the classes `Service` and `Session` that call a loadable module.
export function services(module) {
  // Argument that other code cannot pass to the constructors, so that it cannot call them.
  const own = Symbol("own");

  class Session {
    #native;

    constructor(key, session) {
      if (key !== own) throw invalid("a Session is created by service.signIn() or service.asToken()");
      this.#native = session;
    }

    async call(name, input, given = {}) {
      options("call", given, ["signal"]).signal?.throwIfAborted();
      checkDates(input);
      try {
        return hide(await this.#native.call(text(name, "name"), input));
      } catch (error) {
        throw converted(error);
      }
    }
  }

  class Service {
    #native;

    constructor(key, service) {
      if (key !== own) throw invalid("a Service is created by Service.memory()");
      this.#native = service;
    }

    static async memory(given = {}) {
      const { rootKey } = options("Service.memory", given, ["rootKey"]);
      try {
        return new Service(own, await module.functions.Service.memory({ rootKey: rootKeyIfAny(rootKey) }));
      } catch (error) {
        throw converted(error);
      }
    }

    async signIn(person) {
      const given = options("signIn", person, ["issuer", "subject", "email", "name"]);
      try {
        return new Session(own, await this.#native.signIn(given));
      } catch (error) {
        throw converted(error);
      }
    }

    asToken(token) {
      return new Session(own, this.#native.asToken(text(token, "token")));
    }
  }

  nameOperations(Session.prototype);
  return { Service, Session };
}

function rootKeyIfAny(given) {
  if (given === undefined || given === null) return undefined;
  const key = bytes(given, "rootKey");
  if (key.byteLength !== 32) throw invalid("rootKey must have 32 bytes");
  return key;
}
