// Made by secrets-py/generate/operations.py from the document of the interface; not edited by hand.

/** A person's account. */
export interface Account {
  /** When they first signed in. */
  created_at: string;
  /** Their teams. */
  teams: AccountTeam[];
  /** The person. */
  user: User;
}

/** What is kept of a person. Values of secrets are not part of it. */
export interface AccountData {
  /** What they did, the newest 10,000 entries, newest first. */
  audit_logs: AuditEntry[];
  /** 1. */
  format_version: number;
  /** When it was put together. */
  generated_at: string;
  /** Their pending invitations. */
  invitations: InvitationPublicInfo[];
  /** Their teams. */
  memberships: AccountTeam[];
  /** The projects they can reach. */
  projects: Project[];
  /** The service tokens they made. */
  service_tokens: ServiceToken[];
  /** The person. */
  user: User;
}

/** A person's place in a team. */
export interface AccountTeam {
  /** Which team. */
  id: string;
  /** Whether it came with their first sign-in, or that of whoever invited them. */
  is_personal: boolean;
  /** What it is called. */
  name: string;
  /** Their role. */
  role: Role;
}

/** What a token may do; also written `secrets:read` and `secrets:write`. */
export type Allowed = "read" | "write";

/** Who did what, when and from where. Names are those of the time: things may be gone since. */
export interface AuditEntry {
  /** What was done, such as `secret.created`. */
  action: string;
  /** A person's address then. */
  actor_email?: string | null;
  /** Which one. */
  actor_id?: string | null;
  /** Its name then. */
  actor_name?: string | null;
  /** `user`, `service_token` or `system`. */
  actor_type: string;
  /** When. */
  created_at: string;
  /** The environment concerned. */
  environment_id?: string | null;
  /** Its name then. */
  environment_name?: string | null;
  /** The hash that seals the entry into its chain, in hexadecimal; absent for some seconds. */
  hash?: string | null;
  /** Which entry. */
  id: string;
  /** The client's address. */
  ip_address?: string | null;
  /** More about it; never a value. */
  metadata: Record<string, unknown>;
  /** `success`, `denied` or `failure`. */
  outcome: string;
  /** The hash of the entry before. */
  prev_hash?: string | null;
  /** The project concerned. */
  project_id?: string | null;
  /** Its name then. */
  project_name?: string | null;
  /** The request. */
  request_id?: string | null;
  /** Which one. */
  resource_id?: string | null;
  /** Its name then: a secret's key, say. */
  resource_name?: string | null;
  /** The kind of thing it was done to. */
  resource_type: string;
  /** The team concerned. */
  team_id?: string | null;
  /** The client's name for itself. */
  user_agent?: string | null;
}

/** A page of the log. */
export interface AuditPage {
  /** How many entries a page holds. */
  limit: number;
  /** The entries, in the order asked for. */
  logs: AuditEntry[];
  /** Leads to the next page, if there is one. */
  next_cursor?: string | null;
}

/** What a team pays, and for what. */
export interface Billing {
  /** Where invoices are sent. */
  billing_email?: string | null;
  /** Whether the plan ends with it. */
  cancel_at_period_end: boolean;
  /** When it ends. */
  current_period_end?: string | null;
  /** When what was paid for began. */
  current_period_start?: string | null;
  /** What was asked for; nobody asks yet. */
  invoices: Record<string, unknown>[];
  /** What the plan allows, by name; `null` for as much as there is room for. */
  limits: Record<string, number | null>;
  /** Its plan. */
  plan: string;
  /** Whom it pays. */
  provider: string;
  /** How many members it has. */
  seats: number;
  /** Whether it pays. */
  status: PaymentStatus;
  /** Which team. */
  team_id: string;
}

/** How many findings of each severity. */
export interface BySeverity {
  /** Of high severity. */
  high: number;
  /** Of low severity. */
  low: number;
  /** Of medium severity. */
  medium: number;
}

/** A session, as its client gets it (RFC 6749, section 5.1). */
export interface CliGrant {
  /** The credential; shown this once. */
  access_token: string;
  /** How many seconds it lasts. */
  expires_in: number;
  /** `Bearer`. */
  token_type: string;
  /** As whom it counts. */
  user: CliUser;
}

/** A session, without its credential. */
export interface CliSession {
  /** What the client called itself. */
  client_name?: string | null;
  /** When it began. */
  created_at: string;
  /** Whether the caller uses it now. */
  current: boolean;
  /** When it ends. */
  expires_at: string;
  /** What it called its machine. */
  hostname?: string | null;
  /** Which session. */
  id: string;
  /** The address it called from. */
  ip_address?: string | null;
  /** What it called its operating system. */
  os?: string | null;
  /** The first characters of its credential. */
  token_prefix: string;
}

/** As whom a session counts. */
export interface CliUser {
  /** Their address. */
  email: string;
  /** Which person. */
  id: string;
  /** Their name. */
  name: string;
}

/** How a database is reached. */
export interface Connection {
  /** Their password. */
  admin_password: string;
  /** Who may make users there, 1 to 63 bytes that can be seen. */
  admin_username: string;
  /** The authorities that are believed about the server, as PEM of at most 32 KiB; the machine's own where nothing is given. */
  ca_certificate?: string | null;
  /** The database on it, 1 to 63 bytes that can be seen. */
  database: string;
  /** Its host name or address, at most 253 characters. */
  host: string;
  /** Its port, 1 to 65535; 5432 or 3306 unless it is said. */
  port?: number | null;
  /** `verify-full` unless it is said. */
  ssl_mode?: SslMode | null;
}

/** Who dials the database. */
export type ConnectionMethod = "direct" | "proxied";

/** How the login stands now. */
export interface Decided {
  /** `approved` or `denied`. */
  status: string;
}

/** How a delivery to a webhook is doing. */
export type DeliveryStatus = "pending" | "delivered" | "failed";

/** A login that has begun (RFC 8628, section 3.2). */
export interface DeviceLogin {
  /** The code that the client keeps and asks with. */
  device_code: string;
  /** How many seconds the codes last. */
  expires_in: number;
  /** How many seconds the client must wait between its questions. */
  interval: number;
  /** The code that the client shows to its person. */
  user_code: string;
  /** Where the person goes. */
  verification_uri: string;
  /** The same, with the code in it. */
  verification_uri_complete: string;
}

/** Who asks. */
export interface DeviceRequest {
  /** What the client calls itself. */
  client_name?: string | null;
  /** When it asked. */
  created_at: string;
  /** When the code ends. */
  expires_at: string;
  /** What it calls its machine. */
  hostname?: string | null;
  /** The address it called from. */
  ip_address?: string | null;
  /** What it calls its operating system. */
  os?: string | null;
  /** `pending`, `approved`, `denied` or `redeemed`. */
  status: string;
}

/** An environment. */
export interface Environment {
  /** When it was made. */
  created_at: string;
  /** What it is for. */
  description?: string | null;
  /** Which environment. */
  id: string;
  /** The environment it inherits from. */
  inherits_from?: string | null;
  /** Its name. */
  name: string;
  /** Where it stands in lists. */
  order: number;
  /** Whose environment. */
  project_id: string;
  /** When it last changed. */
  updated_at: string;
}

/** What a person may do in an environment. */
export interface EnvironmentPermission {
  /** Whether it includes saying who may. */
  can_admin: boolean;
  /** Whether that includes reading. */
  can_read: boolean;
  /** Whether it includes writing. */
  can_write: boolean;
  /** When it was first said; where nobody said it, when the environment was made. */
  created_at: string;
  /** In which environment. */
  environment_id: string;
  /** Its name. */
  environment_name: string;
  /** Who said so, where somebody did. */
  granted_by?: string | null;
  /** Names the pair of environment and person: always the same for the same two (RFC 9562, version 8, of their SHA-256). */
  id: string;
  /** What they may do. */
  role: MemberAccess;
  /** When it was last said; likewise. */
  updated_at: string;
  /** Their address. */
  user_email: string;
  /** Who. */
  user_id: string;
  /** Their name. */
  user_name: string;
}

/** A value. */
export interface EsoSecret {
  /** The value. */
  value: string;
}

/** Values by key. */
export interface EsoSecrets {
  /** The values, ordered by key. */
  secrets: Record<string, string>;
}

/** Something a scan found. */
export interface Finding {
  /** Its column, from 1, in characters. */
  column?: number | null;
  /** Why. */
  comment?: string | null;
  /** The commit it is in. */
  commit?: string | null;
  /** When it was found. */
  created_at: string;
  /** What the rule finds. */
  description: string;
  /** Its entropy, in bits for each character. */
  entropy?: number | null;
  /** What it is known again by: the same in each scan of the same team and project. */
  fingerprint: string;
  /** Which finding. */
  id: string;
  /** Its line, from 1. */
  line?: number | null;
  /** The stored secret that it is the value of; for those who may read that. */
  matches_secret?: MatchedSecret | null;
  /** The file it is in. */
  path?: string | null;
  /** Its first and last characters; nothing of a value that is stored here. */
  redacted?: string | null;
  /** The rule that found it. */
  rule_id: string;
  /** Whose finding. */
  scan_id: string;
  /** How bad it is. */
  severity: Severity;
  /** What was said of it. */
  status: FindingStatus;
  /** When something was said of it. */
  updated_at: string;
  /** Who said it. */
  updated_by?: string | null;
}

/** What was said of a finding. */
export type FindingStatus = "unresolved" | "resolved" | "false_positive" | "ignored";

/** A person, and what they may do. */
export interface Granted {
  /** What they may do. */
  role: MemberAccess;
  /** Who: a member of the team. */
  user_id: string;
}

/** What an import did. */
export interface ImportResult {
  /** Keys the environment did not have. */
  created: number;
  /** Keys that were left alone. */
  skipped: number;
  /** Keys that got a new value. */
  updated: number;
}

/** What kind of database it is. */
export type Integration = "postgresql" | "mysql";

/** An invitation, as those who run the team see it. */
export interface Invitation {
  /** Where it is accepted, for the inviter to pass on. */
  accept_url?: string | null;
  /** When it was made. */
  created_at: string;
  /** Who is invited. */
  email: string;
  /** When it ends. */
  expires_at: string;
  /** Which invitation. */
  id: string;
  /** Who invites. */
  invited_by: string;
  /** Their address. */
  invited_by_email?: string;
  /** When it was last sent. */
  last_sent_at: string;
  /** In which role. */
  role: Role;
  /** `pending`. */
  status: string;
  /** To which team. */
  team_id: string;
}

/** An invitation, as the one who is invited sees it. */
export interface InvitationPublicInfo {
  /** When it was made. */
  created_at: string;
  /** Who is invited. */
  email: string;
  /** When it ends. */
  expires_at: string;
  /** Which invitation. */
  id: string;
  /** Their address. */
  invited_by_email?: string;
  /** Who invites. */
  invited_by_name: string;
  /** In which role. */
  role: Role;
  /** `pending`. */
  status: string;
  /** To which team. */
  team_id: string;
  /** What it is called. */
  team_name: string;
  /** The token it is accepted by, in the list of one's own. */
  token?: string | null;
}

/** What somebody can be invited to be. Owners are made of members. */
export type InvitedRole = "member" | "admin";

/** A stored secret whose value was found. */
export interface MatchedSecret {
  /** Its environment. */
  environment_id: string;
  /** Its key. */
  key: string;
  /** Its project. */
  project_id: string;
}

/** What a person may do in an environment. Owners and admins of the team may everything. */
export type MemberAccess = "none" | "read" | "write" | "admin";

/** What the caller may do in each environment of a project. */
export interface MyPermissions {
  /** Whether the caller is an owner or admin of the team, and so may everything. */
  is_team_admin: boolean;
  /** One for each environment, in their order. */
  permissions: EnvironmentPermission[];
}

/** Somebody whom a bundle is for. */
export type NewRecipient = NewRecipientRaw | NewRecipientPassphrase | NewRecipientX25519;

/** Whoever knows a passphrase. */
export interface NewRecipientPassphrase {
  /** 12 to 1,024 characters. */
  passphrase: string;
  type: "passphrase";
}

/** Whoever has a key that is drawn for this bundle and shown once. */
export interface NewRecipientRaw {
  type: "raw";
}

/** Whoever has the private key of a pair. */
export interface NewRecipientX25519 {
  /** The public one, `scbp_…`. */
  public_key: string;
  type: "x25519";
}

/** How an attempt ended. */
export type Outcome = "success" | "failed" | "rolled_back";

/** Whether a team pays. */
export type PaymentStatus = "active" | "trialing" | "past_due" | "canceled" | "none";

/** What the rotated user may do in the database. */
export type PermissionLevel = "read" | "read_write" | "admin";

/** A project. */
export interface Project {
  /** When it was made. */
  created_at: string;
  /** Who made it. */
  created_by?: string | null;
  /** What it is for. */
  description?: string | null;
  /** Which project. */
  id: string;
  /** What people call it. */
  name: string;
  /** Its name in addresses; kept when it is renamed. */
  slug: string;
  /** Whose project. */
  team_id: string;
  /** When it last changed. */
  updated_at: string;
}

/** What members may do in the environments of a project where nothing is said of them. */
export interface ProjectPermission {
  /** Whether it was said of this project; else it is what the operator chose for all. */
  is_set: boolean;
  /** In which project. */
  project_id: string;
  /** What they may do. */
  role: MemberAccess;
  /** Who said it. */
  set_by?: string | null;
  /** When it was last said. */
  updated_at?: string | null;
}

/** A project and its environments. */
export interface ProjectWithEnvironments {
  /** When it was made. */
  created_at: string;
  /** Who made it. */
  created_by?: string | null;
  /** What it is for. */
  description?: string | null;
  /** Which project. */
  id: string;
  /** What people call it. */
  name: string;
  /** Its name in addresses; kept when it is renamed. */
  slug: string;
  /** Whose project. */
  team_id: string;
  /** When it last changed. */
  updated_at: string;
  /** Its environments, in their order; for a token, those of its scope. */
  environments: Environment[];
}

/** A function of AWS Lambda that reaches a database for us. */
export interface ProxyConnection {
  /** Which function. */
  lambda_arn: string;
  /** Its region; the one in `lambda_arn`. */
  region: string;
  /** What messages to and from it are signed and encrypted with: 32 to 512 visible ASCII characters. */
  shared_secret: string;
}

/** A person's role in a team. */
export type Role = "member" | "admin" | "owner";

/** A rotation. How its database is reached is never told. */
export interface Rotation {
  /** Who dials the database. */
  connection_method: ConnectionMethod;
  /** When it was made. */
  created_at: string;
  /** The environment whose secrets it writes. */
  environment_id: string;
  /** What is wrong. */
  error_message?: string | null;
  /** Which rotation. */
  id: string;
  /** The keys it has written; none before its first success. */
  injected_secrets: string[];
  /** What kind of database. */
  integration_type: Integration;
  /** When it last succeeded. */
  last_rotation_at?: string | null;
  /** Its name. */
  name: string;
  /** When it rotates next; absent while it is paused or disabled. */
  next_rotation_at?: string | null;
  /** How many days lie between rotations. */
  rotation_interval_days: number;
  /** How it is doing. */
  status: RotationStatus;
  /** When it last changed. */
  updated_at: string;
}

/** How an attempt to rotate ended. */
export interface RotationHistory {
  /** When it ended. */
  completed_at: string;
  /** Why it ended so. */
  error_message?: string | null;
  /** Which attempt. */
  id: string;
  /** Whose attempt. */
  rotation_config_id: string;
  /** When it was begun. */
  started_at: string;
  /** How it ended. */
  status: Outcome;
  /** Why it was begun. */
  trigger_type: TriggerType;
  /** Who asked for it. */
  triggered_by?: string | null;
  /** Its number within the rotation, from 1. */
  version: number;
}

/** How a rotation is doing. */
export type RotationStatus = "active" | "paused" | "disabled" | "error";

/** A webhook of a rotation. What signs deliveries to it is there once, when it is made. */
export interface RotationWebhook {
  /** When it was made. */
  created_at: string;
  /** Whether it is told anything: false once its receiver was given up. */
  enabled: boolean;
  /** What it is told. */
  events: WebhookEvent[];
  /** Which webhook. */
  id: string;
  /** Whose events it is told. */
  rotation_config_id: string;
  /** What signs deliveries to it: `whsec_` and 32 bytes in base64. */
  secret?: string | null;
  /** Where it is. */
  url: string;
}

/** A webhook of a rotation. What signs deliveries to it is there once, when it is made. */
export interface RotationWebhookWithSecret {
  /** When it was made. */
  created_at: string;
  /** Whether it is told anything: false once its receiver was given up. */
  enabled: boolean;
  /** What it is told. */
  events: WebhookEvent[];
  /** Which webhook. */
  id: string;
  /** Whose events it is told. */
  rotation_config_id: string;
  /** What signs deliveries to it: `whsec_` and 32 bytes in base64. */
  secret: string;
  /** Where it is. */
  url: string;
}

/** A scan. */
export interface Scan {
  /** How many of each severity. */
  by_severity: BySeverity;
  /** When it was done. */
  completed_at: string;
  /** When it was made. */
  created_at: string;
  /** Who made it. */
  created_by: string;
  /** How many findings it has. */
  findings_count: number;
  /** Which scan. */
  id: string;
  /** The project it was made for. */
  project_id?: string | null;
  /** How many stored values it was compared with. */
  secrets_compared: number;
  /** What was scanned. */
  source: ScanSource;
  /** When it began. */
  started_at: string;
  /** How far it is. */
  status: ScanStatus;
  /** Whose scan. */
  team_id: string;
  /** Whether more was found than the 1,000 worst, which are kept. */
  truncated: boolean;
}

/** What is scanned. */
export interface ScanSource {
  /** The commit it is: at most 100 visible characters. */
  commit?: string | null;
  /** What people call it: at most 200 visible characters. */
  name?: string | null;
  /** Of which kind it is. */
  type: SourceKind;
}

/** How far a scan is. Scans are done when they are answered. */
export type ScanStatus = "completed";

/** A scan with what it found. */
export interface ScanWithFindings {
  /** How many of each severity. */
  by_severity: BySeverity;
  /** When it was done. */
  completed_at: string;
  /** When it was made. */
  created_at: string;
  /** Who made it. */
  created_by: string;
  /** How many findings it has. */
  findings_count: number;
  /** Which scan. */
  id: string;
  /** The project it was made for. */
  project_id?: string | null;
  /** How many stored values it was compared with. */
  secrets_compared: number;
  /** What was scanned. */
  source: ScanSource;
  /** When it began. */
  started_at: string;
  /** How far it is. */
  status: ScanStatus;
  /** Whose scan. */
  team_id: string;
  /** Whether more was found than the 1,000 worst, which are kept. */
  truncated: boolean;
  /** What it found, in the order of what was scanned. */
  findings: Finding[];
}

/** A file to scan. */
export interface ScannedFile {
  /** What it holds. */
  content: string;
  /** Its path: 1 to 1,024 characters, none of them a control character. */
  path: string;
}

/** A bundle, and what its maker should know of it. */
export interface SealedBundle {
  /** The file, in base64. */
  bundle: string;
  /** When it was made. */
  created_at: string;
  /** From when on it does not open. */
  expires_at?: string | null;
  /** The key that opens it, where one was asked for. Nobody can be told it again. */
  key?: string | null;
  /** How many secrets it holds. */
  secrets: number;
  /** Its number: the microsecond at which it was made. */
  seq: number;
  /** Who signed it: this installation, each time. Whoever opens bundles should know it. */
  signer: string;
}

/** A secret, with its value only where the operation gives values. */
export interface Secret {
  /** When it was made. */
  created_at: string;
  /** Who made it. */
  created_by?: string | null;
  /** What it is for. */
  description?: string | null;
  /** The environment that holds it. */
  environment_id: string;
  /** Whether it hides its key. */
  hidden?: boolean;
  /** Which secret. */
  id: string;
  /** The name of the environment that holds it, where that is an ancestor of the one asked. */
  inherited_from?: string | null;
  /** Its key. */
  key: string;
  /** `string`. */
  type: string;
  /** When anything of it last changed. */
  updated_at: string;
  /** Who last changed it. */
  updated_by?: string | null;
  /** The value. */
  value?: string | null;
  /** Counts the values it has had, from 1. */
  version: number;
}

/** Under which keys the parts of a credential are written, where not under the usual ones. */
export interface SecretMapping {
  /** The database. */
  database?: string | null;
  /** The host. */
  host?: string | null;
  /** The password. */
  password?: string | null;
  /** The port. */
  port?: string | null;
  /** All of them as one address. */
  url?: string | null;
  /** The user. */
  username?: string | null;
}

/** A version that was replaced. */
export interface SecretVersion {
  /** How it came to be: `created`, `updated`, `hidden` or `rolled_back`. */
  change_type: string;
  /** When it was made. */
  changed_at: string;
  /** Who made it. */
  changed_by?: string | null;
  /** When it was replaced, and so became an entry. */
  created_at: string;
  /** This entry: the same each time it is read. */
  id: string;
  /** The secret's key. */
  key: string;
  /** Whose version. */
  secret_id: string;
  /** The value it held, where values are given; a version that hid its key held none. */
  value?: string | null;
  /** Which version. */
  version: number;
}

/** A secret, with its value only where the operation gives values. */
export interface SecretWithValue {
  /** When it was made. */
  created_at: string;
  /** Who made it. */
  created_by?: string | null;
  /** What it is for. */
  description?: string | null;
  /** The environment that holds it. */
  environment_id: string;
  /** Whether it hides its key. */
  hidden?: boolean;
  /** Which secret. */
  id: string;
  /** The name of the environment that holds it, where that is an ancestor of the one asked. */
  inherited_from?: string | null;
  /** Its key. */
  key: string;
  /** `string`. */
  type: string;
  /** When anything of it last changed. */
  updated_at: string;
  /** Who last changed it. */
  updated_by?: string | null;
  /** The value. */
  value: string;
  /** Counts the values it has had, from 1. */
  version: number;
}

/** A service token. The token itself is there once, when it is made. */
export interface ServiceToken {
  /** Whether it reaches all environments of its projects. */
  all_environments: boolean;
  /** Whether it reaches all projects of the team. */
  all_projects: boolean;
  /** When it was made. */
  created_at: string;
  /** Who made it. */
  created_by: string;
  /** The environments it reaches, unless it is all of its projects. */
  environment_ids: string[];
  /** When it ends. */
  expires_at?: string | null;
  /** Which token. */
  id: string;
  /** Addresses it may be used from: empty for all. */
  ip_allowlist: string[];
  /** When it was last used: at most a minute and a few seconds behind. */
  last_used_at?: string | null;
  /** From where. */
  last_used_ip?: string | null;
  /** What people call it. */
  name: string;
  /** `read`, `write`. */
  permissions: string[];
  /** The projects it reaches, unless it is all. */
  project_ids: string[];
  /** When it was last rotated. */
  rotated_at?: string | null;
  /** The same list, under the name that clients of this interface read. */
  scopes: string[];
  /** `active` or `expired`; one that is deleted is not told of. */
  status: string;
  /** Whose token. */
  team_id: string;
  /** The token itself. */
  token?: string | null;
  /** The token's first characters. */
  token_prefix: string;
  /** When it last changed. */
  updated_at: string;
}

/** A service token. The token itself is there once, when it is made. */
export interface ServiceTokenWithToken {
  /** Whether it reaches all environments of its projects. */
  all_environments: boolean;
  /** Whether it reaches all projects of the team. */
  all_projects: boolean;
  /** When it was made. */
  created_at: string;
  /** Who made it. */
  created_by: string;
  /** The environments it reaches, unless it is all of its projects. */
  environment_ids: string[];
  /** When it ends. */
  expires_at?: string | null;
  /** Which token. */
  id: string;
  /** Addresses it may be used from: empty for all. */
  ip_allowlist: string[];
  /** When it was last used: at most a minute and a few seconds behind. */
  last_used_at?: string | null;
  /** From where. */
  last_used_ip?: string | null;
  /** What people call it. */
  name: string;
  /** `read`, `write`. */
  permissions: string[];
  /** The projects it reaches, unless it is all. */
  project_ids: string[];
  /** When it was last rotated. */
  rotated_at?: string | null;
  /** The same list, under the name that clients of this interface read. */
  scopes: string[];
  /** `active` or `expired`; one that is deleted is not told of. */
  status: string;
  /** Whose token. */
  team_id: string;
  /** The token itself. */
  token: string;
  /** The token's first characters. */
  token_prefix: string;
  /** When it last changed. */
  updated_at: string;
}

/** How bad it is that a credential is known. */
export type Severity = "high" | "medium" | "low";

/** A kind of thing to scan. */
export type SourceKind = "text" | "files" | "findings";

/** How a connection to a database is protected. Never opportunistic: `allow` and `prefer` mean `require`. */
export type SslMode = "disable" | "allow" | "prefer" | "require" | "verify-ca" | "verify-full";

/** A finding of another scanner, such as a pre-commit hook. */
export interface SubmittedFinding {
  /** Its column, from 1. */
  column?: number | null;
  /** The commit it is in. */
  commit?: string | null;
  /** What the rule finds: at most 500 visible characters. */
  description?: string | null;
  /** What it is known again by where the credential is not given: at most 2,048 characters. */
  fingerprint?: string | null;
  /** Its line, from 1. */
  line?: number | null;
  /** The file it is in. */
  path?: string | null;
  /** The rule that found it: 1 to 100 visible characters. */
  rule_id: string;
  /** The credential itself. It is hashed, compared and dropped. */
  secret?: string | null;
  /** How bad it is; as the rule of this id says, or medium. */
  severity?: Severity | null;
}

export interface SubmittedSecret {
  description?: string | null;
  /** A secret's name: `[A-Za-z_][A-Za-z0-9_.-]{0,254}`, case kept; `export` and `bulk` belong to the interface. */
  key: string;
  /** A secret's value: UTF-8 without NUL, at most 65,536 bytes. */
  value: string;
}

/** A team. */
export interface Team {
  /** When it was made. */
  created_at: string;
  /** Who made it. */
  created_by: string;
  /** Which team. */
  id: string;
  /** Whether it came with its owner's first sign-in. */
  is_personal: boolean;
  /** What people call it. */
  name: string;
  /** What it may use. */
  plan: string;
  /** Its name in addresses. */
  slug: string;
  /** When it last changed. */
  updated_at: string;
}

/** Somebody's place in a team, or one that is kept for whoever was invited. */
export interface TeamMember {
  /** Where they accept it, for the inviter to pass on. */
  accept_url?: string | null;
  /** An image of them. */
  avatar_url?: string | null;
  /** When they joined or were invited. */
  created_at: string;
  /** Their address. */
  email: string;
  /** Names this place: the person's id, or the invitation's. */
  id: string;
  /** The invitation that is pending. */
  invitation_id?: string | null;
  /** When they joined. */
  joined_at?: string | null;
  /** Their name. */
  name?: string | null;
  /** Their role. */
  role: Role;
  /** `active`, or `pending` while they have not joined. */
  status: string;
  /** Which team. */
  team_id: string;
  /** When their role last changed. */
  updated_at: string;
  /** Which person, once they have joined. */
  user_id?: string | null;
}

/** A team's names. */
export interface TeamName {
  /** Which team. */
  id: string;
  /** What people call it. */
  name: string;
  /** Its name in addresses. */
  slug: string;
}

/** What a team uses of its plan. */
export interface TeamUse {
  /** When the next begins. */
  period_end: string;
  /** When the month began, in UTC. */
  period_start: string;
  /** Its plan. */
  plan: string;
  /** Which team. */
  team_id: string;
  /** What it uses. */
  usage: Uses;
}

/** A team as one of its members sees it. */
export interface TeamWithMembers {
  /** When it was made. */
  created_at: string;
  /** Who made it. */
  created_by: string;
  /** Which team. */
  id: string;
  /** Whether it came with its owner's first sign-in. */
  is_personal: boolean;
  /** What people call it. */
  name: string;
  /** What it may use. */
  plan: string;
  /** Its name in addresses. */
  slug: string;
  /** When it last changed. */
  updated_at: string;
  /** How many members there are. */
  member_count: number;
  /** The members, in the order they joined. */
  members: TeamMember[];
  /** The caller's role. */
  role: Role;
}

/** How a connection works. */
export interface TestResult {
  /** Why not, or what is to be known; nothing of what the server says. */
  message: string;
  /** Whether a rotation could work with it. */
  success: boolean;
}

/** A service token, as it sees itself. */
export interface TokenSelf {
  /** `service_token`. */
  auth_type: string;
  /** When it was made. */
  created_at: string;
  /** The environments it reaches, unless it is all of its projects. */
  environment_ids?: string[];
  /** When it ends. */
  expires_at?: string | null;
  /** Which token. */
  id: string;
  /** What people call it. */
  name: string;
  /** The same. */
  permissions: string[];
  /** The projects it reaches, unless it is all. */
  project_ids: string[];
  /** `read`, `write`. */
  scopes: string[];
  /** Whose token. */
  team_id: string;
}

/** Why a rotation was attempted. */
export type TriggerType = "scheduled" | "manual";

/** How much is used of one thing. */
export interface Use {
  /** How much the plan allows; `null` for as much as there is room for. */
  limit?: number | null;
  /** How much in all places, where the limit is one of each. */
  total?: number | null;
  /** How much, in the place to which the limit applies; absent where it is not counted. */
  used?: number | null;
}

/** A person and their teams. */
export interface User {
  /** `user`. */
  auth_type: string;
  /** An image of them. */
  avatar_url?: string | null;
  /** When they first signed in. */
  created_at: string;
  /** Their address. */
  email: string;
  /** Who they are to their identity provider (`sub`). */
  external_id: string;
  /** Their given name. */
  first_name?: string | null;
  /** Which person. */
  id: string;
  /** When they last signed in. */
  last_login_at?: string | null;
  /** Their family name. */
  last_name?: string | null;
  /** Their name. */
  name: string;
  /** Their teams. */
  teams: UserTeam[];
  /** When something about them last changed. */
  updated_at: string;
}

/** A person's place in a team. */
export interface UserTeam {
  /** When they joined. */
  created_at: string;
  /** Their role. */
  role: Role;
  /** The team's names. */
  team: TeamName;
  /** Which team. */
  team_id: string;
  /** The person. */
  user_id: string;
}

/** What a team uses, of each thing that is counted. */
export interface Uses {
  /** Requests. They are not counted by team: that would be a write for each. */
  api_requests: Use;
  /** Environments; plans limit them in each project, so `used` is that of the fullest one. */
  environments: Use;
  /** Members. */
  members: Use;
  /** Projects. */
  projects: Use;
  /** Rotations of credentials. */
  rotations: Use;
  /** Secrets; plans limit them in each environment, so `used` is that of the fullest one. */
  secrets: Use;
  /** Service tokens. */
  service_tokens: Use;
}

/** The statuses that a person can give. */
export type WantedStatus = "active" | "paused";

/** An event on its way to a webhook, or there. The message's id is `msg_` and the delivery's. */
export interface WebhookDelivery {
  /** How often it was sent. */
  attempts: number;
  /** When the event happened. */
  created_at: string;
  /** Of what: an event of the rotation, or `webhook.test`. */
  event: string;
  /** Which delivery. */
  id: string;
  /** When it is sent next, while it is pending. */
  next_attempt_at?: string | null;
  /** The status of the receiver's last answer. */
  response_status?: number | null;
  /** How it is doing. */
  status: DeliveryStatus;
}

/** What a webhook can be told of. */
export type WebhookEvent = "rotation.started" | "rotation.completed" | "rotation.failed";

/** Operations on the caller's account. */
export interface AccountOperations {
  /** Delete it, with the teams that nobody else is in. `account.delete` */
  delete(input: { confirm: string; }): Promise<void>;
  /** Take along what is kept of one, without values. `account.export` */
  export(): Promise<AccountData>;
  /** Take along what one may read, under a passphrase. `account.export_secrets` */
  exportSecrets(input: { include_secrets: true; passphrase: string; }): Promise<string>;
  /** See the account. `account.get` */
  get(): Promise<Account>;
  /** Rename it. `account.update` */
  update(input: { name: string; }): Promise<Account>;
}

/** Operations on the log. */
export interface AuditOperations {
  /** Read the logs of the teams one runs. `audit.list` */
  list(input?: { action?: string[]; actor_id?: string; actor_type?: "user" | "service_token" | "system" | "anonymous"; project_id?: string; environment_id?: string; resource_type?: string; resource_id?: string; key?: string; outcome?: "success" | "denied" | "failure"; ip?: string; from?: string; to?: string; limit?: number; cursor?: string; order?: "desc" | "asc"; team_id?: string; }): Promise<AuditPage>;
}

/** Operations on what a team pays for. */
export interface BillingOperations {
  /** See the plan. `billing.get` */
  get(input: { team: string; }): Promise<Billing>;
  /** Put a team on a plan; for operators. `billing.set_plan` */
  setPlan(input: { team: string; plan: string; }): Promise<Billing>;
}

/** Operations on cli sessions. */
export interface CliSessionOperations {
  /** List the sessions of command lines. `cli_session.list` */
  list(): Promise<CliSession[]>;
  /** End a session. `cli_session.revoke` */
  revoke(input?: { id?: string | null; }): Promise<void>;
}

/** Operations on device logins. */
export interface DeviceLoginOperations {
  /** Let a command line in. `device_login.approve` */
  approve(input: { user_code: string; }): Promise<Decided>;
  /** Refuse it. `device_login.deny` */
  deny(input: { user_code: string; }): Promise<Decided>;
  /** See who asks. `device_login.look_up` */
  lookUp(input: { user_code: string; }): Promise<DeviceRequest>;
  /** Ask how the login stands. `device_login.poll` */
  poll(input?: { client_id?: string | null; device_code?: string | null; grant_type?: string | null; }): Promise<CliGrant>;
  /** Begin a login from a command line (RFC 8628). `device_login.start` */
  start(input: { client_id: string; client_name?: string | null; hostname?: string | null; os?: string | null; }): Promise<DeviceLogin>;
}

/** Operations on environments. */
export interface EnvironmentOperations {
  /** Create an environment. `environment.create` */
  create(input: { project: string; name: string; description?: string | null; inherits_from?: string | null; }): Promise<Environment>;
  /** Delete an environment and its secrets. `environment.delete` */
  delete(input: { project: string; environment: string; }): Promise<void>;
  /** See an environment. `environment.get` */
  get(input: { project: string; environment: string; }): Promise<Environment>;
  /** List the environments of a project. `environment.list` */
  list(input: { project: string; }): Promise<Environment[]>;
  /** Change an environment: its name, parent or description. `environment.update` */
  update(input: { project: string; environment: string; description?: string | null; inherits_from?: string | null; name?: string | null; }): Promise<Environment>;
}

/** What operators of container orchestrators read. */
export interface EsoOperations {
  /** Read one value, for an operator of a container orchestrator. `eso.secret` */
  secret(input: { project: string; env: string; key: string; }): Promise<EsoSecret>;
  /** Read all values of an environment. `eso.secrets` */
  secrets(input: { project: string; env: string; }): Promise<EsoSecrets>;
}

/** Operations on findings. */
export interface FindingOperations {
  /** Say what became of a finding. `finding.update` */
  update(input: { scan: string; finding: string; status: FindingStatus; comment?: string | null; }): Promise<Finding>;
}

/** Operations on invitations. */
export interface InvitationOperations {
  /** Accept an invitation. `invitation.accept` */
  accept(input: { token: string; }): Promise<Team>;
  /** List the pending invitations of a team. `invitation.list` */
  list(input: { team: string; }): Promise<Invitation[]>;
  /** See an invitation. `invitation.look_up` */
  lookUp(input: { token: string; }): Promise<InvitationPublicInfo>;
  /** List one's own pending invitations. `invitation.mine` */
  mine(): Promise<InvitationPublicInfo[]>;
  /** Send an invitation again, with a new token. `invitation.resend` */
  resend(input: { team: string; invitation: string; }): Promise<void>;
  /** Revoke an invitation. `invitation.revoke` */
  revoke(input: { team: string; invitation: string; }): Promise<void>;
}

/** Operations on members. */
export interface MemberOperations {
  /** Invite somebody to a team. `member.invite` */
  invite(input: { team: string; email: string; role?: InvitedRole | null; }): Promise<TeamMember>;
  /** Remove a member, or leave. `member.remove` */
  remove(input: { team: string; user: string; }): Promise<void>;
  /** Give a member another role. `member.update` */
  update(input: { team: string; user: string; role: Role; }): Promise<TeamMember>;
}

/** Operations on permissions. */
export interface PermissionOperations {
  /** Take back what was said of a member. `permission.delete` */
  delete(input: { project: string; environment: string; user: string; }): Promise<void>;
  /** List what members may do in an environment. `permission.list` */
  list(input: { project: string; environment: string; }): Promise<EnvironmentPermission[]>;
  /** See what one may do in a project. `permission.mine` */
  mine(input: { project: string; }): Promise<MyPermissions>;
  /** Say what a member may do in an environment. `permission.put` */
  put(input: { project: string; environment: string; user: string; role: MemberAccess; }): Promise<EnvironmentPermission>;
  /** Say what several members may do in an environment. `permission.put_all` */
  putAll(input: { project: string; environment: string; permissions: Granted[]; }): Promise<EnvironmentPermission[]>;
}

/** Operations on what members may do where nothing is said. */
export interface PermissionDefaultsOperations {
  /** Take that back. `permission_defaults.delete` */
  delete(input: { project: string; }): Promise<void>;
  /** See what members may do where nothing is said. `permission_defaults.get` */
  get(input: { project: string; }): Promise<ProjectPermission>;
  /** Say what members may do where nothing is said. `permission_defaults.put` */
  put(input: { project: string; role: MemberAccess; }): Promise<ProjectPermission>;
}

/** Operations on projects. */
export interface ProjectOperations {
  /** Create a project with its three environments. `project.create` */
  create(input: { name: string; description?: string | null; slug?: string | null; team_id?: string | null; }): Promise<Project>;
  /** Delete a project; it can be restored for 30 days. `project.delete` */
  delete(input: { project: string; }): Promise<void>;
  /** See a project and its environments. `project.get` */
  get(input: { project: string; }): Promise<ProjectWithEnvironments>;
  /** List the projects one can reach. `project.list` */
  list(): Promise<Project[]>;
  /** Restore a deleted project. `project.restore` */
  restore(input: { project: string; }): Promise<Project>;
  /** Rename a project or describe it. `project.update` */
  update(input: { project: string; description?: string | null; name?: string | null; }): Promise<Project>;
}

/** Operations on rotations. */
export interface RotationOperations {
  /** Create a rotation; its database is not dialled. `rotation.create` */
  create(input: { project: string; environment: string; connection: Connection; connection_method: ConnectionMethod; integration_type: Integration; name: string; rotation_interval_days: number; permission_level?: PermissionLevel | null; proxy?: ProxyConnection | null; rotate_immediately?: boolean; secret_mapping?: SecretMapping | null; }): Promise<Rotation>;
  /** Delete a rotation; its users and secrets stay, unless they are revoked. `rotation.delete` */
  delete(input: { project: string; environment: string; rotation: string; revoke?: boolean; }): Promise<void>;
  /** See a rotation. `rotation.get` */
  get(input: { project: string; environment: string; rotation: string; }): Promise<Rotation>;
  /** List how the last 200 attempts ended, newest first. `rotation.history` */
  history(input: { project: string; environment: string; rotation: string; }): Promise<RotationHistory[]>;
  /** List the rotations of an environment, by name. `rotation.list` */
  list(input: { project: string; environment: string; }): Promise<Rotation[]>;
  /** Rotate now, and learn how it ended within 45 seconds. `rotation.rotate` */
  rotate(input: { project: string; environment: string; rotation: string; }): Promise<RotationHistory>;
  /** Try the connection of a rotation. `rotation.test` */
  test(input: { project: string; environment: string; rotation: string; }): Promise<TestResult>;
  /** Try a connection without keeping it. `rotation.test_connection` */
  testConnection(input: { project: string; environment: string; connection: Connection; connection_method: ConnectionMethod; integration_type: Integration; proxy?: ProxyConnection | null; }): Promise<TestResult>;
  /** Give a rotation another interval, pause it or let it go on. `rotation.update` */
  update(input: { project: string; environment: string; rotation: string; rotation_interval_days?: number | null; status?: WantedStatus | null; }): Promise<Rotation>;
}

/** Operations on scans. */
export interface ScanOperations {
  /** Look for credentials in a text or files. `scan.create` */
  create(input: { source: ScanSource; content?: string | null; files?: ScannedFile[] | null; findings?: SubmittedFinding[] | null; project_id?: string | null; team_id?: string | null; }): Promise<ScanWithFindings>;
  /** Delete a scan. `scan.delete` */
  delete(input: { scan: string; }): Promise<void>;
  /** See a scan and what it found. `scan.get` */
  get(input: { scan: string; }): Promise<ScanWithFindings>;
  /** List scans. `scan.list` */
  list(input?: { team_id?: string; project_id?: string; }): Promise<Scan[]>;
}

/** Operations on secrets. */
export interface SecretOperations {
  /** Take along all values an environment sees, in a file that opens without the service. `secret.bundle` */
  bundle(input: { project: string; environment: string; recipients: NewRecipient[]; expires_in_seconds?: number | null; }): Promise<SealedBundle>;
  /** Create a secret. `secret.create` */
  create(input: { project: string; environment: string; key: string; description?: string | null; hidden?: boolean | null; value?: string | null; }): Promise<Secret>;
  /** Delete a secret for good. `secret.delete` */
  delete(input: { project: string; environment: string; key: string; expected_version?: number; }): Promise<void>;
  /** Read all values an environment sees. `secret.export` */
  export(input: { project: string; environment: string; format?: "dotenv" | "docker" | "shell" | "json" | "yaml" | "csv" | "k8s"; name?: string; }): Promise<SecretWithValue[] | { text: string }>;
  /** Read a secret. `secret.get` */
  get(input: { project: string; environment: string; key: string; }): Promise<SecretWithValue>;
  /** List the versions a secret has replaced. `secret.history` */
  history(input: { project: string; environment: string; key: string; values?: boolean; before?: number; limit?: number; }): Promise<SecretVersion[]>;
  /** Import up to 100 secrets, or none. `secret.import` */
  import(input: { project: string; environment: string; secrets: SubmittedSecret[]; overwrite?: boolean | null; }): Promise<ImportResult>;
  /** List the secrets an environment sees, without values. `secret.list` */
  list(input: { project: string; environment: string; }): Promise<Secret[]>;
  /** Give a secret the value of an older version. `secret.roll_back` */
  rollBack(input: { project: string; environment: string; key: string; version: number; expected_version?: number | null; }): Promise<Secret>;
  /** Change a secret; what it held is kept. `secret.update` */
  update(input: { project: string; environment: string; key: string; description?: string | null; expected_version?: number | null; hidden?: boolean | null; value?: string | null; }): Promise<Secret>;
}

/** Operations on teams. */
export interface TeamOperations {
  /** Create a team. `team.create` */
  create(input: { name: string; }): Promise<Team>;
  /** See a team and its members. `team.get` */
  get(input: { team: string; }): Promise<TeamWithMembers>;
  /** List one's teams. `team.list` */
  list(): Promise<TeamWithMembers[]>;
}

/** Operations on tokens. */
export interface TokenOperations {
  /** Create a service token; it is shown this once. `token.create` */
  create(input: { name: string; all_projects?: boolean | null; environments?: string[] | null; expires_at?: string | null; expires_in_days?: number | null; ip_allowlist?: string[] | null; permissions?: Allowed[] | null; project_ids?: string[] | null; scopes?: Allowed[] | null; team_id?: string | null; }): Promise<ServiceTokenWithToken>;
  /** Delete a service token. `token.delete` */
  delete(input: { token: string; }): Promise<void>;
  /** List service tokens. `token.list` */
  list(input?: { team_id?: string; }): Promise<ServiceToken[]>;
  /** Give a service token another text; it is shown this once. `token.rotate` */
  rotate(input: { token: string; grace_period_seconds?: number | null; }): Promise<ServiceTokenWithToken>;
}

/** Operations on how much of its plan a team uses. */
export interface UsageOperations {
  /** See how much of the plan is used. `usage.get` */
  get(input: { team: string; }): Promise<TeamUse>;
}

/** Operations on users. */
export interface UserOperations {
  /** See who one is. `user.me` */
  me(): Promise<User | TokenSelf>;
  /** Sign in: make or refresh one's account. `user.sync` */
  sync(): Promise<User>;
}

/** Operations on webhooks. */
export interface WebhookOperations {
  /** Create a webhook; what signs its deliveries is shown this once. `webhook.create` */
  create(input: { project: string; environment: string; rotation: string; events: WebhookEvent[]; url: string; }): Promise<RotationWebhookWithSecret>;
  /** Delete a webhook. `webhook.delete` */
  delete(input: { project: string; environment: string; rotation: string; webhook: string; }): Promise<void>;
  /** List what a webhook was told. `webhook.deliveries` */
  deliveries(input: { project: string; environment: string; rotation: string; webhook: string; }): Promise<WebhookDelivery[]>;
  /** List a rotation's webhooks. `webhook.list` */
  list(input: { project: string; environment: string; rotation: string; }): Promise<RotationWebhook[]>;
  /** Send a webhook again what it was told. `webhook.redeliver` */
  redeliver(input: { project: string; environment: string; rotation: string; webhook: string; delivery: string; }): Promise<WebhookDelivery>;
  /** Send a webhook a test. `webhook.test` */
  test(input: { project: string; environment: string; rotation: string; webhook: string; }): Promise<WebhookDelivery>;
}

/** All operations. */
export interface Operations {
  account: AccountOperations;
  audit: AuditOperations;
  billing: BillingOperations;
  cliSession: CliSessionOperations;
  deviceLogin: DeviceLoginOperations;
  environment: EnvironmentOperations;
  eso: EsoOperations;
  finding: FindingOperations;
  invitation: InvitationOperations;
  member: MemberOperations;
  permission: PermissionOperations;
  permissionDefaults: PermissionDefaultsOperations;
  project: ProjectOperations;
  rotation: RotationOperations;
  scan: ScanOperations;
  secret: SecretOperations;
  team: TeamOperations;
  token: TokenOperations;
  usage: UsageOperations;
  user: UserOperations;
  webhook: WebhookOperations;
}

/** The names of all operations, as `call` takes them. */
export type OperationName =
  | "account.delete"
  | "account.export"
  | "account.export_secrets"
  | "account.get"
  | "account.update"
  | "audit.list"
  | "billing.get"
  | "billing.set_plan"
  | "cli_session.list"
  | "cli_session.revoke"
  | "device_login.approve"
  | "device_login.deny"
  | "device_login.look_up"
  | "device_login.poll"
  | "device_login.start"
  | "environment.create"
  | "environment.delete"
  | "environment.get"
  | "environment.list"
  | "environment.update"
  | "eso.secret"
  | "eso.secrets"
  | "finding.update"
  | "invitation.accept"
  | "invitation.list"
  | "invitation.look_up"
  | "invitation.mine"
  | "invitation.resend"
  | "invitation.revoke"
  | "member.invite"
  | "member.remove"
  | "member.update"
  | "permission.delete"
  | "permission.list"
  | "permission.mine"
  | "permission.put"
  | "permission.put_all"
  | "permission_defaults.delete"
  | "permission_defaults.get"
  | "permission_defaults.put"
  | "project.create"
  | "project.delete"
  | "project.get"
  | "project.list"
  | "project.restore"
  | "project.update"
  | "rotation.create"
  | "rotation.delete"
  | "rotation.get"
  | "rotation.history"
  | "rotation.list"
  | "rotation.rotate"
  | "rotation.test"
  | "rotation.test_connection"
  | "rotation.update"
  | "scan.create"
  | "scan.delete"
  | "scan.get"
  | "scan.list"
  | "secret.bundle"
  | "secret.create"
  | "secret.delete"
  | "secret.export"
  | "secret.get"
  | "secret.history"
  | "secret.import"
  | "secret.list"
  | "secret.roll_back"
  | "secret.update"
  | "team.create"
  | "team.get"
  | "team.list"
  | "token.create"
  | "token.delete"
  | "token.list"
  | "token.rotate"
  | "usage.get"
  | "user.me"
  | "user.sync"
  | "webhook.create"
  | "webhook.delete"
  | "webhook.deliveries"
  | "webhook.list"
  | "webhook.redeliver"
  | "webhook.test";
