// WebAssembly module that is loaded later.

import { bytesIfAny } from "./arguments.js";
import { invalid } from "./errors.js";

const SOURCES = ["WebAssembly.Module", "Response", "URL", "Request", "String"];

// Wraps a module of the generated bindings. Its functions cannot be used until it is loaded.
export function loadable({ default: load, initSync, ...functions }, { needsCrypto = false } = {}) {
  let isLoaded = false;

  // Loads the module from its bytes or compiled, synchronously.
  function loadSync(module) {
    initSync({ module });
    isLoaded = true;
  }

  return {
    loadSync,

    // Loads the module from its bytes, a compiled module, a response, a request or an address.
    async load(source) {
      const given = await source;
      const bytes = bytesIfAny(given);
      if (!bytes && !isSource(given)) throw invalid("source must be a WebAssembly.Module, bytes, a Response, a Request or a URL");
      if (needsCrypto && typeof globalThis.crypto?.getRandomValues !== "function") {
        throw invalid("globalThis.crypto is missing: set it to webcrypto of node:crypto before init");
      }
      if (isLoaded) return;
      const compiled = await (bytes ? WebAssembly.compile(bytes) : compile(given));
      // Another call may have loaded the module meanwhile. A second instance would replace the first and its data.
      if (isLoaded) return;
      try {
        loadSync(compiled);
      } catch (error) {
        // The main thread of older browsers refuses to instantiate large modules synchronously.
        if (!(error instanceof RangeError)) throw error;
        await load({ module_or_path: compiled });
        isLoaded = true;
      }
    },

    get functions() {
      if (!isLoaded) throw invalid("the module is not loaded: await init(source) first");
      return functions;
    },
  };
}

async function compile(source) {
  const type = typeOf(source);
  if (type === "WebAssembly.Module") return source;
  const response = type === "Response" ? source : await fetch(source);
  // Some servers send another content type, which `compileStreaming` refuses.
  const isStreamable = /^application\/wasm\s*$/i.test(response.headers.get("content-type") ?? "");
  if (isStreamable || !response.ok) return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

const isSource = (value) => SOURCES.includes(typeOf(value));

// Name of an object's type, which is the same in another realm.
function typeOf(value) {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}
