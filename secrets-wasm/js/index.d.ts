import type { OperationName, Operations } from "./operations.js";
import type { SecretsError } from "./bundle.js";

export * from "./bundle.js";
export type * from "./operations.js";

/** Why an operation did not happen. */
export type ErrorKind =
  | "invalid"
  | "refused"
  | "unauthenticated"
  | "elsewhere"
  | "forbidden"
  | "not_found"
  | "conflict"
  | "stale"
  | "plan_limit"
  | "rate_limited"
  | "unavailable"
  | "internal";

/** What an operation throws. */
export interface OperationError extends SecretsError<ErrorKind> {
  /** The rule that was broken, such as `already_exists`. */
  code?: string;
  /** Where `kind` is `invalid`: each field, and the rule it breaks. */
  fields?: { field: string; message: string; index?: number; key?: string }[];
  /** Where `kind` is `plan_limit`: what is counted, and how much of it the plan has. */
  resource?: string;
  plan?: string;
  limit?: number;
  current?: number;
}

/** Somebody for whom the caller vouches. */
export interface Person {
  /** Who numbers people: an identity provider, or a name for your program. */
  issuer: string;
  /** The person, as the issuer numbers them. */
  subject: string;
  email: string;
  name?: string;
}

/** A whole service, in memory: gone with the page or process. */
export class Service {
  private constructor();
  /** Opens an empty service. `rootKey` has 32 bytes; one is drawn where none is given. */
  static memory(options?: { rootKey?: Uint8Array }): Promise<Service>;
  /** Signs a person in. A new one gets an account and a team of their own. */
  signIn(person: Person): Promise<Session>;
  /** Somebody with a service token (`env_…`) or the credential of a command line (`cli_…`). */
  asToken(text: string): Session;
}

/** Somebody who uses a service: `session.secret.create({ … })`, and so on for each operation. */
export interface Session extends Operations {}
export class Session {
  private constructor();
  /**
   * Does what a name such as `secret.create` names.
   *
   * @throws {OperationError}
   */
  call(name: OperationName, input?: object): Promise<unknown>;
}

/** The names of all operations. */
export function operations(): OperationName[];

/** A key and its value. */
export interface Pair {
  key: string;
  value: string;
}

/**
 * The secrets that a text holds, in its order.
 *
 * @throws {OperationError}
 */
export function parse(text: string, format: "dotenv" | "json" | "yaml"): Pair[];

/**
 * The text that holds secrets, for the readers the format is for. What it cannot carry is refused
 * by key and rule. `name` is what a Kubernetes Secret is called: `secrets` where it is not given.
 *
 * @throws {OperationError}
 */
export function render(
  secrets: readonly Pair[],
  format: "dotenv" | "docker" | "shell" | "json" | "yaml" | "csv" | "k8s",
  name?: string,
): string;

/** A credential that was found in a text, without the credential. */
export interface Sighting {
  rule_id: string;
  description: string;
  severity: "high" | "medium" | "low";
  /** From 1. */
  line: number;
  /** From 1, in characters. */
  column: number;
  /** Its first and last characters. */
  redacted: string;
  /** Bits for each character. */
  entropy: number;
}

/** The credentials in a text. `path` is where it is from, for rules about some files only. */
export function scan(text: string, path?: string): Sighting[];

/** A delivery to a webhook, as it arrived. */
export interface Delivery {
  /** What the webhook was made with: `whsec_…`. */
  secret: string;
  /** The headers of the request. */
  headers: { get(name: string): string | null } | Record<string, string | string[] | undefined>;
  /** The very body that came: one that was read and written again is another. */
  body: string | Uint8Array;
  /** The present moment, in seconds since 1970; the clock's where it is not given. */
  now?: number;
}

/**
 * Refuses a delivery that was not signed with the secret, or not within five minutes of now.
 *
 * @throws {SecretsError<"malformed" | "tampered" | "stale" | "invalid">}
 */
export function verifyWebhook(delivery: Delivery): void;
