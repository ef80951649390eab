// WebAssembly module that is loaded later.

import { bytesIfAny } from "./arguments.js";
import { invalid } from "./errors.js";

const SOURCES = ["Module", "Response", "URL", "Request", "String"];

// Returns a module of the generated bindings. Its functions are refused until it is loaded.
export function loadable({ default: load, initSync, ...functions }) {
  let isLoaded = false;

  return {
    // Loads the module from its bytes, synchronously.
    loadSync(bytes) {
      initSync({ module: bytes });
      isLoaded = true;
    },

    // Loads the module from its bytes, a compiled module, a response or an address.
    async load(source) {
      const given = await source;
      const bytes = bytesIfAny(given);
      if (!bytes && !isSource(given)) throw invalid("source must be a WebAssembly.Module, bytes, a Response or a URL");
      await load({ module_or_path: bytes ?? given });
      isLoaded = true;
    },

    get functions() {
      if (!isLoaded) throw invalid("the module is not loaded: await init(source) first");
      return functions;
    },
  };
}

// Compares names, which works for objects of another realm.
function isSource(value) {
  const name = Object.prototype.toString.call(value).slice("[object ".length, -1);
  return SOURCES.includes(name) || name === "WebAssembly.Module";
}
