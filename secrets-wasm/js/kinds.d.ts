import type { SecretsError } from "./errors.js";

/** Kind of an operation's error. */
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

/** Error thrown by an operation. */
export type OperationError = SecretsError<ErrorKind>;
