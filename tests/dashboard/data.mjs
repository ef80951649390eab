// Test data, created over the API.

// Returns a function that sends requests as one user.
export function caller(url, token) {
  return async (method, path, body) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const answer = await fetch(`${url}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : null;
  };
}

// Makes changes to secrets, at most a thousand in each request.
export async function change(call, project, changes) {
  for (let start = 0; start < changes.length; start += 1_000) {
    await call("POST", `/projects/${project}/changes`, { changes: changes.slice(start, start + 1_000) });
  }
}

const set = (environment, key, value, description) => ({ environment, key, action: "set", value: `kvc_${value}`, description });

// Creates a project that has each kind of cell mark, with the environments development, staging,
// production, preview (inherits from production) and qa (inherits from preview).
export async function createMarks(call, name = "Web API") {
  const { slug } = await call("POST", "/projects", { name, description: "Public API and its workers" });
  const { environments } = await call("GET", `/projects/${slug}`);
  const production = environments.find(({ name }) => name === "production");
  const preview = await call("POST", `/projects/${slug}/environments`, { name: "preview", inherits_from: production.id });
  await call("POST", `/projects/${slug}/environments`, { name: "qa", inherits_from: (preview.environment ?? preview).id });
  const three = ["development", "staging", "production"];
  const everywhere = (key, description) => three.map((environment) => set(environment, key, `${environment}-${key}`, description));
  await change(call, slug, [
    ...everywhere("API_KEY", "Key of the public API"),
    ...everywhere("DATABASE_URL", "Primary database"),
    set("development", "DEBUG_TOOLBAR", "on"),
    ...three.map((environment) => set(environment, "LOG_LEVEL", environment === "production" ? "info" : "debug", "debug or info")),
    set("development", "MAIL_FROM", "a@example.com"),
    set("production", "MAIL_FROM", "mail@example.com"),
    ...everywhere("REDIS_URL"),
    set("production", "SENTRY_DSN", "dsn"),
    ...everywhere("SMTP_PASSWORD"),
    ...everywhere("STRIPE_WEBHOOK_SIGNING_SECRET"),
    set("production", "TLS_CERTIFICATE", "line one\nline two\nline three"),
    ...everywhere("UPSTREAM_TIMEOUT_MS"),
  ]);
  await change(call, slug, [
    set("preview", "LOG_LEVEL", "trace"),
    set("qa", "DATABASE_URL", "qa-database"),
    { environment: "preview", key: "API_KEY", action: "hide" },
    { environment: "qa", key: "SENTRY_DSN", action: "hide" },
    set("staging", "API_KEY", "second"),
  ]);
  return slug;
}

// Creates a project with a chain of `depth` environments, each of which inherits from the previous
// environment. The first environment has `BASE`, and the last environment overrides `LAST`.
export async function createChain(call, depth) {
  const { slug } = await call("POST", "/projects", { name: `Chain of ${depth}` });
  const { environments } = await call("GET", `/projects/${slug}`);
  let parent = environments.find(({ name }) => name === "production");
  const names = ["production"];
  for (let level = 2; level <= depth; level++) {
    const made = await call("POST", `/projects/${slug}/environments`, { name: `level-${level}`, inherits_from: parent.id });
    parent = made.environment ?? made;
    names.push(parent.name);
  }
  const last = names.at(-1);
  const changes = [set("production", "BASE", "base"), set("production", "LAST", "first"), set("production", "GONE", "gone")];
  await change(call, slug, changes);
  if (depth > 1) await change(call, slug, [set(last, "LAST", "last"), { environment: last, key: "GONE", action: "hide" }]);
  return { slug, names };
}

// Creates a project of 1,000 keys in each of six environments.
export async function createLarge(call) {
  const { slug } = await call("POST", "/projects", { name: "Large" });
  for (const name of ["preview", "qa", "load"]) await call("POST", `/projects/${slug}/environments`, { name });
  const names = ["development", "staging", "production", "preview", "qa", "load"];
  const keys = Array.from({ length: 1_000 }, (_, index) => `SERVICE_${String(index).padStart(4, "0")}_TOKEN`);
  for (const environment of names) {
    await change(call, slug, keys.map((key, index) => set(environment, key, `${environment}-${index % 7}`)));
  }
  return { slug, names, keys };
}

// Creates a team of the owner, with a member, and a project of the team.
export async function createTeam(owner, member, { name = "Acme", project = "Web API", description = "Public API" } = {}) {
  await owner("POST", "/auth/sync");
  const { email } = await member("POST", "/auth/sync");
  const team = await owner("POST", "/teams", { name });
  await owner("POST", `/teams/${team.id}/members`, { email });
  const [{ token }] = await member("GET", "/invitations");
  await member("POST", `/invitations/${token}/accept`);
  const { slug, id } = await owner("POST", "/projects", { name: project, description, team_id: team.id });
  return { team: team.id, slug, project: id };
}
