// All sections with their dialogs, and test data for them.

import { change } from "./data.mjs";

// Creates objects of each kind in a team, so that no section is empty.
export async function fill(call, { team, slug, project }, word) {
  const environments = `/projects/${slug}/environments`;
  const { id } = await call("POST", environments, { name: "preview", inherits_from: "production", description: word });
  await call("POST", environments, { name: "qa", inherits_from: id });
  await change(call, slug, [
    ...["development", "staging", "production"].map((environment) => ({ environment, key: "API_KEY", action: "set", value: "kvc_one" })),
    { environment: "development", key: "DEBUG", action: "set", value: "kvc_on", description: word },
  ]);
  for (const environment of ["production", "staging"]) await call("GET", `${environments}/${environment}/secrets/API_KEY`);
  const token = { team_id: team, project_ids: [project] };
  await call("POST", "/tokens", { ...token, name: `cluster ${word}`, expires_in_days: 9, ip_allowlist: ["203.0.113.0/24"] });
  await call("POST", "/tokens", { ...token, name: "ci", environments: ["staging"], permissions: ["read", "write"] });
  await call("POST", `/teams/${team}/members`, { email: "carol@example.com" });
  await call("POST", `${environments}/production/rotations`, {
    name: "main-db", integration_type: "postgresql", connection_method: "direct", rotation_interval_days: 30,
    connection: { host: "database.invalid", database: "d", admin_username: "u", admin_password: "kvc_p" },
  });
  await call("POST", `${environments}/production/rotations/main-db/rotate`);
  await call("POST", `${environments}/production/rotations/main-db/webhooks`, { url: "https://hooks.example.com/a", events: ["rotation.failed"] });
  const findings = [
    { rule_id: "github-pat", description: `Token of GitHub ${word}`, path: "deploy.sh", line: 4, severity: "high" },
    { rule_id: "generic", description: "High entropy", path: "src/config.js", line: 120, severity: "low" },
  ];
  await call("POST", "/scans", { project_id: project, source: { type: "findings", name: `commit ${word}`, commit: "3f2a1c" }, findings });
}

// Addresses of the sections of a place, each with a selector of its content.
export const sections = ({ slug, team }) => ({
  environments: [`/projects/${slug}/environments`, ".entry"],
  rotations: [`/projects/${slug}/rotations`, ".entry"],
  tokens: [`/projects/${slug}/tokens`, ".entry"],
  access: [`/projects/${slug}/access`, ".matrix"],
  audit: [`/projects/${slug}/audit`, ".record"],
  scans: [`/projects/${slug}/scans`, ".entry"],
  settings: [`/projects/${slug}/settings`, ".form"],
  members: [`/teams/${team}/members`, ".entry"],
  "team-tokens": [`/teams/${team}/tokens`, ".entry"],
  "team-audit": [`/teams/${team}/audit`, ".record"],
  "team-scans": [`/teams/${team}/scans`, ".entry"],
  usage: [`/teams/${team}/usage`, ".use"],
  account: ["/account", ".entry"],
});

// Dialogs of each section, by the button that opens them.
export const DIALOGS = {
  environments: { "new-environment": "New environment", "edit-environment": "Edit: preview", "delete-parent": "Delete: preview", "delete-environment": "Delete: qa" },
  rotations: {
    "new-rotation": "New rotation", "rotate-now": "Rotate now: main-db", interval: "Change interval: main-db", "delete-rotation": "Delete: main-db",
    "new-webhook": "Add webhook", deliveries: "Deliveries: https://hooks.example.com/a", "delete-webhook": "Delete: https://hooks.example.com/a",
  },
  scans: { "new-scan": "Scan a text", "delete-scan": "Delete: commit of the cluster" },
  tokens: { "new-token": "New token", rotate: "Rotate: ci", revoke: "Revoke: ci" },
  settings: { "delete-project": "Delete project" },
  members: { invite: "Invite", role: "Change role: bob", remove: "Remove: bob", "revoke-invitation": "Revoke: carol@example.com" },
  account: { "delete-account": "Delete account" },
};
