import type { SecretsError } from "./errors.js";

/** Kind of an error that an operation throws. */
export type ErrorKind =
  /** A field of the input or another argument is invalid. */
  | "invalid"
  /** The current state does not allow the operation for any caller. `code` contains the reason. */
  | "refused"
  /** The credential is missing or not valid. */
  | "unauthenticated"
  /** The token must not be used from this IP address. */
  | "elsewhere"
  /** The caller does not have the permission. */
  | "forbidden"
  /** The object does not exist, or the caller has no access to it. */
  | "not_found"
  /** An object with this name already exists. */
  | "conflict"
  /** The object does not have the expected version. */
  | "stale"
  /** A limit of the plan would be exceeded. */
  | "plan_limit"
  /** The caller has sent too many requests. */
  | "rate_limited"
  /** The service or a system that it needs cannot be reached now; a later retry may succeed. */
  | "unavailable"
  /** Internal error of the service, or a response that does not come from the service. */
  | "internal";

/** Error thrown by an operation. */
export type OperationError = SecretsError<ErrorKind>;
