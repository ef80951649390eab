// Requests of the sections.

import { send } from "../api.js";

const segment = encodeURIComponent;

/** Returns the API path of a project's environments. @param {string} project */
const environmentsOf = (project) => `/projects/${segment(project)}/environments`;

/** Returns the API path of a rotation. @param {string} project @param {any} rotation */
const rotationOf = (project, { environment_id, name }) =>
  `${environmentsOf(project)}/${segment(environment_id)}/rotations/${segment(name)}`;

/** Returns the API path of a webhook. @param {string} project @param {any} rotation @param {string} webhook */
const webhookOf = (project, rotation, webhook) => `${rotationOf(project, rotation)}/webhooks/${segment(webhook)}`;

/**
 * Sends a request, and returns the body of the response.
 * @param {string} method @param {string} path @param {unknown} [body]
 */
const body = async (method, path, body) => (await send(method, path, { body })).body;

/** Returns a query string, without values that are empty. @param {Record<string, string | undefined>} values */
function query(values) {
  const set = Object.entries(values).filter(([, value]) => value);
  const text = new URLSearchParams(/** @type {[string, string][]} */ (set)).toString();
  return text && `?${text}`;
}

/** Maximum number of pages of the audit log that are loaded one after the other. */
const MAX_AUDIT_PAGES = 20;

export const requests = {
  sessions: async () => (await body("GET", "/auth/sessions")).sessions,
  /** Ends a session of the signed-in user. @param {string} id */
  endSession: (id) => body("DELETE", `/auth/sessions/${segment(id)}`),
  endOtherSessions: async () => (await body("DELETE", "/auth/sessions")).revoked,

  /** Returns all data about the signed-in user as text. */
  accountData: async () => (await send("GET", "/account/data-export", { isText: true })).body,
  /** Deletes the account of the signed-in user. @param {string} email */
  deleteAccount: (email) => body("DELETE", "/account", { confirm: email }),

  /** Loads a team with its members. @param {string} id */
  team: (id) => body("GET", `/teams/${segment(id)}`),
  /** Loads the plan and the usage of a team. @param {string} id */
  usage: (id) => body("GET", `/teams/${segment(id)}/usage`),
  /** Lists the pending invitations of a team. @param {string} id */
  invitations: (id) => body("GET", `/teams/${segment(id)}/invitations`),
  /** Invites a user to a team. @param {string} id @param {{ email: string, role: string }} member */
  invite: (id, member) => body("POST", `/teams/${segment(id)}/members`, member),
  /** Changes the role of a member. @param {string} id @param {string} user @param {string} role */
  setRole: (id, user, role) => body("PATCH", `/teams/${segment(id)}/members/${segment(user)}`, { role }),
  /** Removes a member from a team. @param {string} id @param {string} user */
  removeMember: (id, user) => body("DELETE", `/teams/${segment(id)}/members/${segment(user)}`),
  /** Revokes an invitation. @param {string} id @param {string} invitation */
  revokeInvitation: (id, invitation) => body("DELETE", `/teams/${segment(id)}/invitations/${segment(invitation)}`),
  /** Sends an invitation again. @param {string} id @param {string} invitation */
  resendInvitation: (id, invitation) => body("POST", `/teams/${segment(id)}/invitations/${segment(invitation)}/resend`),

  /** Lists the service tokens of a team. @param {string} team */
  tokens: async (team) => (await body("GET", `/tokens${query({ team_id: team })}`)).tokens,
  /** Creates a service token. @param {any} token */
  createToken: (token) => body("POST", "/tokens", token),
  /**
   * Replaces the text of a service token.
   * @param {string} id @param {number} grace time in seconds for which the old token still works
   */
  rotateToken: (id, grace) => body("POST", `/tokens/${segment(id)}/rotate`, { grace_period_seconds: grace }),
  /** Revokes a service token. @param {string} id */
  revokeToken: (id) => body("DELETE", `/tokens/${segment(id)}`),

  /** Loads a page of the audit log. @param {string} team @param {Record<string, string | undefined>} filter */
  audit: (team, filter) => body("GET", `/teams/${segment(team)}/audit${query(filter)}`),
  /**
   * Loads pages of the audit log, one after the other. A page may be empty although there are older entries.
   * @param {string} team @param {Record<string, string | undefined>} filter @returns {AsyncGenerator<{ logs: any[], next_cursor?: string }>}
   */
  async *auditPages(team, filter) {
    let { cursor } = filter;
    for (let number = 1; number <= MAX_AUDIT_PAGES; number++) {
      const page = await requests.audit(team, { ...filter, cursor });
      yield page;
      cursor = page.next_cursor;
      if (!cursor) return;
    }
  },
  /** Verifies the newest entries of a team's audit chain. @param {string} team */
  verifyAudit: (team) => body("GET", `/teams/${segment(team)}/audit/verification`),
  /**
   * Returns a page of the audit log as text.
   * @param {string} team @param {Record<string, string | undefined>} filter
   */
  auditText: (team, filter) => send("GET", `/teams/${segment(team)}/audit${query(filter)}`, { isText: true }),

  /** Loads the user's permissions in a project. @param {string} project */
  myPermissions: (project) => body("GET", `/projects/${segment(project)}/my-permissions`),
  /** Creates a project. @param {any} project */
  createProject: (project) => body("POST", "/projects", project),
  /**
   * Changes the name and description of a project.
   * @param {string} project @param {{ name?: string, description?: string }} change
   */
  changeProject: (project, change) => body("PATCH", `/projects/${segment(project)}`, change),
  /** Deletes a project. @param {string} project */
  deleteProject: (project) => body("DELETE", `/projects/${segment(project)}`),
  /** Restores a deleted project. @param {string} id */
  restoreProject: (id) => body("POST", `/projects/${segment(id)}/restore`),
  /** Changes an environment. @param {string} project @param {string} id @param {any} change */
  changeEnvironment: (project, id, change) => body("PATCH", `${environmentsOf(project)}/${segment(id)}`, change),
  /** Creates an environment. @param {string} project @param {any} environment */
  createEnvironment: (project, environment) => body("POST", environmentsOf(project), environment),
  /** Deletes an environment. @param {string} project @param {string} id */
  deleteEnvironment: (project, id) => body("DELETE", `${environmentsOf(project)}/${segment(id)}`),
  /** Lists the permissions for an environment. @param {string} project @param {string} environment */
  permissions: async (project, environment) =>
    (await body("GET", `${environmentsOf(project)}/${segment(environment)}/permissions`)).permissions,
  /**
   * Sets permissions of members for an environment.
   * @param {string} project @param {string} environment @param {{ user_id: string, role: string }[]} permissions
   */
  setPermissions: (project, environment, permissions) =>
    body("PUT", `${environmentsOf(project)}/${segment(environment)}/permissions`, { permissions }),
  /**
   * Deletes a member's permission for an environment, so that the default applies.
   * @param {string} project @param {string} environment @param {string} user
   */
  deletePermission: (project, environment, user) =>
    body("DELETE", `${environmentsOf(project)}/${segment(environment)}/permissions/${segment(user)}`),
  /** Lists the default permissions of a project. @param {string} project */
  defaults: async (project) => (await body("GET", `/projects/${segment(project)}/permissions/defaults`)).defaults,

  /** Lists the rotations of an environment. @param {string} project @param {string} environment */
  rotations: async (project, environment) =>
    (await body("GET", `${environmentsOf(project)}/${segment(environment)}/rotations`)).rotations,
  /** Creates a rotation. @param {string} project @param {string} environment @param {any} rotation */
  createRotation: (project, environment, rotation) => body("POST", `${environmentsOf(project)}/${segment(environment)}/rotations`, rotation),
  /** Tests the connection to a database. @param {string} project @param {string} environment @param {any} target */
  testRotation: (project, environment, target) => body("POST", `${environmentsOf(project)}/${segment(environment)}/rotations/test`, target),
  /** Loads the attempts of a rotation. @param {string} project @param {any} rotation */
  rotationHistory: (project, rotation) => body("GET", `${rotationOf(project, rotation)}/history`),
  /** Lists the webhooks of a rotation. @param {string} project @param {any} rotation */
  webhooks: (project, rotation) => body("GET", `${rotationOf(project, rotation)}/webhooks`),
  /**
   * Creates a webhook.
   * @param {string} project @param {any} rotation @param {{ url: string, events: string[] }} webhook
   */
  createWebhook: (project, rotation, webhook) => body("POST", `${rotationOf(project, rotation)}/webhooks`, webhook),
  /** Deletes a webhook. @param {string} project @param {any} rotation @param {string} id */
  deleteWebhook: (project, rotation, id) => body("DELETE", webhookOf(project, rotation, id)),
  /** Starts a rotation now. @param {string} project @param {any} rotation */
  rotate: (project, rotation) => body("POST", `${rotationOf(project, rotation)}/rotate`),
  /** Pauses or resumes a rotation. @param {string} project @param {any} rotation @param {string} status */
  setRotationStatus: (project, rotation, status) => body("PUT", rotationOf(project, rotation), { status }),
  /**
   * Changes the interval of a rotation.
   * @param {string} project @param {any} rotation @param {{ rotation_interval_days: number }} change
   */
  changeRotation: (project, rotation, change) => body("PUT", rotationOf(project, rotation), change),
  /**
   * Deletes a rotation. With `revoke`, also deletes its secrets and disables its database users.
   * @param {string} project @param {any} rotation @param {boolean} revoke
   */
  deleteRotation: (project, rotation, revoke) => body("DELETE", `${rotationOf(project, rotation)}${query({ revoke: revoke ? "true" : undefined })}`),
  /** Lists the deliveries of a webhook. @param {string} project @param {any} rotation @param {string} webhook */
  deliveries: async (project, rotation, webhook) => (await body("GET", `${webhookOf(project, rotation, webhook)}/deliveries`)).deliveries,
  /** Sends a test event to a webhook. @param {string} project @param {any} rotation @param {string} webhook */
  testWebhook: (project, rotation, webhook) => body("POST", `${webhookOf(project, rotation, webhook)}/test`),
  /**
   * Sends a delivery again.
   * @param {string} project @param {any} rotation @param {string} webhook @param {string} id
   */
  redeliver: (project, rotation, webhook, id) => body("POST", `${webhookOf(project, rotation, webhook)}/deliveries/${segment(id)}/redeliver`),

  /** Lists the scans of a project or a team. @param {{ project_id?: string, team_id?: string }} place */
  scans: async (place) => (await body("GET", `/scans${query(place)}`)).scans,
  /** Loads a scan with its findings. @param {string} id */
  scan: (id) => body("GET", `/scans/${segment(id)}`),
  /** Scans text and stores the findings. @param {any} scan */
  createScan: (scan) => body("POST", "/scans", scan),
  /** Deletes a scan. @param {string} id */
  deleteScan: (id) => body("DELETE", `/scans/${segment(id)}`),
  /** Changes the status of a finding. @param {any} finding @param {{ status: string, comment?: string }} change */
  changeFinding: ({ scan_id, id }, change) => body("PATCH", `/scans/${segment(scan_id)}/findings/${segment(id)}`, change),
};
