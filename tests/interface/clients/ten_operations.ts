// Ten operations through the TypeScript client of openapi-fetch, with the types that
// openapi-typescript generates from the document.
//
// Usage: node ten_operations.js ADDRESS CREDENTIAL. Prints a line for each operation.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./generated/document.js";

const [address, credential] = process.argv.slice(2) as [string, string];
const client = createClient<paths>({
  baseUrl: address,
  headers: { Authorization: `Bearer ${credential}` },
});

const me = await client.GET("/api/v1/users/me");
assert(me.data);
// The discriminator narrows the union.
const email: string = me.data.auth_type === "user" ? me.data.email : me.data.team_id;
assert(email.includes("@"));
console.log("getCurrentUser", me.data.auth_type);

const made = await client.POST("/api/v1/projects", { body: { name: "TypeScript" } });
assert(made.data);
const project: components["schemas"]["Project"] = made.data;
console.log("createProject", project.slug);

const listed = await client.GET("/api/v1/projects");
assert(listed.data);
// A listed project has the type of a project that is read.
const first: components["schemas"]["Project"] | undefined = listed.data.projects[0];
assert(first);
console.log("listProjects", listed.data.projects.length);

const path = { projectId: project.slug };
const got = await client.GET("/api/v1/projects/{projectId}", { params: { path } });
assert(got.data);
console.log("getProject", got.data.name);

const environments = await client.GET("/api/v1/projects/{projectId}/environments", {
  params: { path },
});
assert.equal(environments.data?.environments[2]?.name, "production");
console.log("listEnvironments", environments.data.environments.length);

const SECRETS = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets";
const environment = { ...path, environmentId: "production" };
const created = await client.POST(SECRETS, {
  params: { path: environment },
  body: { key: "URL", value: "kvc_one" },
});
assert.equal(created.data?.secret.version, 1);
console.log("createSecret", created.data.secret.version);

const SECRET = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/{key}";
const secret = { ...environment, key: "URL" };
const changed = await client.PUT(SECRET, {
  params: { path: secret },
  body: { value: "kvc_two" },
});
assert.equal(changed.data?.secret.version, 2);
console.log("updateSecret", changed.data.secret.version);

const read = await client.GET(SECRET, { params: { path: secret } });
assert(read.data);
const value: string = read.data.secret.value;
assert.equal(value, "kvc_two");
console.log("getSecret");

const keys = await client.GET(SECRETS, { params: { path: environment } });
assert.deepEqual(keys.data?.secrets.map((one) => one.key), ["URL"]);
console.log("listSecrets", keys.data?.secrets.length);

const token = await client.POST("/api/v1/tokens", {
  body: { name: "reader", project_ids: [project.slug] },
});
assert(token.data?.token.startsWith("env_"));
console.log("createToken");

// An error has a type too.
const unknown = await client.GET(SECRET, { params: { path: { ...environment, key: "NONE" } } });
assert.equal(unknown.error?.code, "not_found");
