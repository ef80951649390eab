/** Invalid field of an input. If the input is a list, `index` and `key` identify the list item. */
export interface FieldError {
  field: string;
  message: string;
  index?: number;
  key?: string;
}

/** Additional properties of an error. */
export interface ErrorDetails {
  /** Error code, such as `already_exists`. */
  code?: string;
  /** If `kind` is `invalid`: the invalid fields, each with a message. */
  fields?: FieldError[];
  /** If `kind` is `plan_limit`: the name of the limited resource. */
  resource?: string;
  /** If `kind` is `plan_limit`: the name of the team's plan. */
  plan?: string;
  /** If `kind` is `plan_limit`: the limit of the plan, as a number of objects or a size in bytes. */
  limit?: number;
  /** If `kind` is `plan_limit`: the current usage, in the same unit as `limit`. */
  current?: number;
  /** HTTP status of the response, for an error of a `Client`. */
  status?: number;
  /** ID of the request in the log of the service, for an error of a `Client`. */
  requestId?: string;
  /** Seconds to wait before a retry; absent if unknown. */
  retryAfter?: number;
}

/** Error as a plain object, which can be sent with `postMessage` or stored as JSON. */
export interface ErrorJson<Kind extends string = string> extends ErrorDetails {
  kind: Kind;
  message: string;
}

/** Error of this package. Never contains a secret value or a credential. */
export class SecretsError<Kind extends string = string> extends Error implements ErrorDetails {
  constructor(kind: Kind, message: string, details?: ErrorDetails);
  /** Kind of the error. Programs should use it instead of the message. */
  kind: Kind;
  code?: string;
  fields?: FieldError[];
  resource?: string;
  plan?: string;
  limit?: number;
  current?: number;
  status?: number;
  requestId?: string;
  retryAfter?: number;
  /**
   * Returns the error as a plain object. Use it for `postMessage` and `structuredClone`, which drop the properties
   * of an `Error`.
   */
  toJSON(): ErrorJson<Kind>;
  /** Creates an error from the result of `toJSON`. */
  static fromJSON<Kind extends string>(json: ErrorJson<Kind>): SecretsError<Kind>;
}
