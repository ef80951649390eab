// Serves files to a browser with strict headers.

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".json": "application/json",
  ".wasm": "application/wasm",
};

const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  "cross-origin-embedder-policy": "require-corp",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
};

// `folders` maps the first part of a path to a folder; `files` maps a whole path to a file. `headers` replace
// strict headers of the same name.
export async function serve({ folders = {}, files = {}, headers = {} }) {
  const server = createServer(async (request, response) => {
    try {
      const { pathname } = new URL(request.url, "http://localhost");
      const [, first, ...rest] = normalize(pathname).split("/");
      const body = files[pathname] ?? (await readFile(join(folders[first], ...rest)));
      response.writeHead(200, { ...HEADERS, ...headers, "content-type": TYPES[extname(pathname)] ?? TYPES[".html"] });
      response.end(body);
    } catch {
      response.writeHead(404, HEADERS).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  return { url, close: () => new Promise((resolve) => server.close(resolve).closeAllConnections()) };
}
