// Requests with the cookie of a session that another site can cause (CSRF): every endpoint of the
// API treats the requests as unauthenticated. Node.js sends them, because a browser would not send
// some of them.

import assert from "node:assert/strict";
import { request } from "node:http";
import { after, before, test } from "node:test";

import { caller } from "./data.mjs";
import { devLink, devToken, startDev } from "./server.mjs";

let server, call, slug;
let cookie = "";

// Sends a request with any headers, and returns its status and headers.
const send = (method, path, headers) =>
  new Promise((resolve, reject) => {
    const sent = request(server.url + path, { method, headers: { cookie, ...headers } }, (response) => {
      response.resume();
      resolve({ status: response.statusCode, headers: response.headers });
      // The event stream does not end.
      if (response.headers["content-type"] === "text/event-stream") response.destroy();
    });
    sent.on("error", reject);
    sent.end();
  });

before(async () => {
  server = await startDev("dashboard-csrf", { SECRETS_RATE_LIMIT_PER_IP: "0", SECRETS_RATE_LIMIT_PER_PRINCIPAL: "0" });
  call = caller(server.url, devToken(server));
  await call("POST", "/auth/sync");
  ({ slug } = await call("POST", "/projects", { name: "Web API" }));
  await call("POST", `/projects/${slug}/environments/staging/secrets`, { key: "KEY", value: "kvc_one" });
  const link = new URL(devLink(server));
  const { headers } = await send("GET", link.pathname + link.search, { "sec-fetch-site": "none", "sec-fetch-mode": "navigate" });
  cookie = headers["set-cookie"].find((line) => line.startsWith("secrets-session=")).split(";")[0];
});

after(() => server?.close());

// Headers of requests that pages of other sites can cause or try to cause.
const foreign = () => {
  const { hostname, port, host } = new URL(server.url);
  const other = `http://${hostname}:${Number(port) + 1}`;
  return [
    { "sec-fetch-site": "cross-site", origin: "https://evil.example" },
    { "sec-fetch-site": "same-site", origin: other },
    { "sec-fetch-site": "cross-site", origin: "null", "x-secrets-page": "1" },
    { "sec-fetch-site": "none" },
    // Headers of browsers without Fetch Metadata.
    { origin: "https://evil.example" },
    {},
    // Headers that contradict the origin.
    { origin: "https://evil.example", "x-secrets-page": "1" },
    { origin: `https://${host}`, "x-secrets-page": "1" },
    { origin: other, "sec-fetch-site": "same-origin" },
    // Host with another name for this address (DNS rebinding).
    { host: `rebound.example:${port}`, "sec-fetch-site": "same-origin" },
  ];
};

// Methods and paths of all endpoints that need a credential, for objects that exist.
async function endpoints() {
  const { paths } = await (await fetch(`${server.url}/api/v1/openapi.json`)).json();
  const isSecured = ({ security }) => security === undefined || security.length > 0;
  const methods = ["get", "post", "put", "patch", "delete"];
  const path = (template) => template.replace("{projectId}", slug).replace("{environmentId}", "staging").replace("{key}", "KEY").replace(/\{[^}]*\}/g, "main");
  return Object.entries(paths).flatMap(([template, operations]) =>
    methods.filter((method) => operations[method] && isSecured(operations[method])).map((method) => [method.toUpperCase(), path(template)]),
  );
}

test("a request that another site causes is nobody's on every endpoint", async (context) => {
  const all = await endpoints();
  const wrong = [];
  for (const [method, path] of all) {
    for (const headers of foreign()) {
      const { status } = await send(method, path, headers);
      if (status !== 401) wrong.push(`${method} ${path} ${JSON.stringify(headers)}: ${status}`);
    }
  }
  assert.deepEqual(wrong, []);
  context.diagnostic(`${all.length} endpoints, ${all.length * foreign().length} requests`);
  assert.ok(all.length > 80, String(all.length));
  // The requests have changed nothing, and have not ended the session.
  const { secret } = await call("GET", `/projects/${slug}/environments/staging/secrets/KEY`);
  assert.deepEqual([secret.value, secret.version], ["kvc_one", 1]);
  for (const headers of [{ "sec-fetch-site": "same-origin", origin: server.url }, { "sec-fetch-site": "same-origin" }, { "x-secrets-page": "1" }]) {
    assert.equal((await send("GET", "/api/v1/users/me", headers)).status, 200, JSON.stringify(headers));
  }
  assert.equal((await send("GET", `/api/v1/projects/${slug}/environments/staging/secrets/KEY`, { "sec-fetch-site": "same-origin" })).status, 200);
});
