import type { SecretsError } from "./errors.js";

/** Kind of an error that an operation throws. */
export type ErrorKind =
  /** A field of the input or another argument is invalid. */
  | "invalid"
  /** The operation is not possible in the current state of the data, for any caller. `code` contains the reason. */
  | "refused"
  /** The credential is missing, invalid or expired. */
  | "unauthenticated"
  /** The token must not be used from this IP address. */
  | "elsewhere"
  /** The caller is not permitted to perform the operation. */
  | "forbidden"
  /** The object does not exist, or the caller has no access to it. */
  | "not_found"
  /** An object with this name already exists. */
  | "conflict"
  /** The stored object does not have the version that the caller expected. */
  | "stale"
  /** A limit of the team's plan would be exceeded. */
  | "plan_limit"
  /** The caller has sent too many requests. */
  | "rate_limited"
  /** The service or a system that it needs cannot be reached now; a later retry may succeed. */
  | "unavailable"
  /** Internal error of the service, or a response that does not come from the service. */
  | "internal";

/** Error thrown by an operation. */
export type OperationError = SecretsError<ErrorKind>;
