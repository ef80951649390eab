import type { CallOptions, OperationName, Operations } from "./operations.js";

export { SecretsError } from "./errors.js";
export type { ErrorDetails, ErrorJson, FieldError } from "./errors.js";
export type { ErrorKind, OperationError } from "./kinds.js";
export type { AuditFilter } from "./iterators.js";
export type * from "./operations.js";

/** Options with which a `Client` calls its function `fetch`. */
export interface FetchOptions {
  method: string;
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
  redirect: "manual";
  /** Absent on platforms whose `fetch` does not support this option. */
  cache?: "no-store";
  /** Absent on platforms whose `fetch` does not support this option. */
  credentials?: "omit";
}

/** Response of the function `fetch` of a `Client`: a standard `Response`, or an object with the same properties. */
export interface FetchResponse {
  readonly status: number;
  readonly type?: string;
  readonly headers: { get(name: string): string | null };
  /** Response body as a `ReadableStream` of bytes. If it is absent, `arrayBuffer` is called instead. */
  readonly body?: unknown;
  arrayBuffer(): PromiseLike<ArrayBuffer>;
}

/** Options of a `Client`. Unknown options are refused. */
export interface ClientOptions {
  /**
   * Service token (`env_…`), token of the identity provider, or credential of a command line login, or a function
   * that returns the current token. The function is called for each request, and its errors are thrown unchanged.
   * Without this option, only public operations are allowed; the value `undefined` is refused.
   */
  token?: string | (() => string | PromiseLike<string>);
  /**
   * Timeout of one request in milliseconds. It includes getting the token and receiving the response. Default:
   * 60,000.
   */
  timeout?: number | undefined;
  /** Timeout of one call in milliseconds. It includes all retries and the waiting time before them. Default: 90,000. */
  totalTimeout?: number | undefined;
  /** Maximum size of a response in bytes. Default: 256 MiB. */
  maxResponseSize?: number | undefined;
  /** Replacement for the global `fetch`, such as one that uses a proxy. */
  fetch?: ((url: string, options: FetchOptions) => PromiseLike<FetchResponse>) | undefined;
}

/**
 * HTTP client of a service. It has the same methods as a `Session` of a `Service` in memory.
 *
 * If the service is overloaded (429) or unavailable (503) and its response has a `Retry-After` header, the request is
 * sent again after the time in the header, within `totalTimeout`. The minimum wait doubles with each further retry, up
 * to 8 seconds, and a call sends at most 10 requests. A GET request is also sent again after the status 502 or 504 with
 * a `Retry-After` header, and once if its connection breaks. Redirects are not followed, since the token would be sent
 * to another address.
 */
export interface Client extends Operations {}
export class Client {
  /** `url` is the address of the service, such as `https://secrets.example.com`. */
  constructor(url: string | URL, options?: ClientOptions);
  /**
   * Creates a client from the environment variables `SECRETS_URL`, and `SECRETS_TOKEN` or `SECRETS_TOKEN_FILE`. The
   * file contains the token and is read once, in Node.js, Deno and Bun. If neither of the last two is set, the
   * client has no token. `env` defaults to `process.env`; platforms without it, such as browsers, need an object.
   *
   * @throws {SecretsError<"invalid">} a variable is missing or invalid, or the file cannot be read
   */
  static fromEnv(
    env?: Readonly<Record<string, string | undefined>>,
    options?: Omit<ClientOptions, "token">,
  ): Client;
  /**
   * Calls an operation by name, such as `secret.create`.
   *
   * @throws {OperationError} `unavailable` with the code `timeout` or `no_response` if there is no response,
   *   `internal` with the code `foreign_response` if the response is not that of the service
   */
  call(name: OperationName, input?: object, options?: CallOptions): Promise<unknown>;
}
