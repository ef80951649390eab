import type { SecretsError } from "./errors.js";

export { SecretsError } from "./errors.js";
export type { ErrorDetails, ErrorJson, FieldError } from "./errors.js";

/** Binary data: an `ArrayBuffer` or a view of one, such as a `Uint8Array`, a `Buffer` or a `DataView`. */
export type Bytes = ArrayBuffer | ArrayBufferView;

/** Reason why a bundle cannot be opened. */
export type BundleRefusal =
  /** The data is not a bundle, or breaks a rule of the format. */
  | "malformed"
  /** The bundle has a format version or an algorithm that this package does not support. */
  | "unsupported"
  /** The bundle cannot be opened with this key or passphrase. */
  | "no_recipient"
  /** The bundle was changed, reordered or truncated. */
  | "tampered"
  /** The bundle was signed by another signer, or a private key was given without a signer. */
  | "untrusted"
  /** The bundle has expired. */
  | "expired"
  /** The sequence number of the bundle is lower than `atLeast`. */
  | "stale";

/** Credential that opens a bundle: exactly one of a passphrase, a key and a private key. */
export type Unlock =
  /**
   * Passphrase of 12 to 1,024 characters. Deriving a key from it takes up to a second and 64 MiB of memory for a bundle
   * of the service. The parameters in other bundles can require up to 256 MiB and several seconds.
   */
  | { passphrase: string; key?: undefined; privateKey?: undefined }
  /** Key generated for this bundle: `scbk_…`. */
  | { key: string; passphrase?: undefined; privateKey?: undefined }
  /** Private key of a recipient: `scbx_…`. Requires `signer`. */
  | { privateKey: string; signer: string; passphrase?: undefined; key?: undefined };

/** Options for opening a bundle. Unknown options are refused. */
export type OpenOptions = Unlock & {
  /**
   * Expected signer: `scbs_…`. If the option is absent, any signer is accepted. The value `undefined` is refused,
   * so that a missing setting does not turn the check off.
   */
  signer?: string;
  /**
   * Minimum sequence number (`seq`) of the bundle. Default: 0. Pass the `seq` of the last bundle that you have
   * opened for the environment, so that older bundles are refused.
   */
  atLeast?: number | undefined;
  /** Current time in seconds since 1970. Default: the system clock. */
  now?: number | undefined;
};

/** Secret in a bundle. `console.log` does not show its value in Node.js. */
export interface BundledSecret {
  key: string;
  value: string;
  description?: string;
  /** Version number of the secret, starting at 1. */
  version: number;
  /** Name of the ancestor environment from which the secret is inherited, if any. */
  inherited_from?: string;
  /** Time of the last change to the secret. */
  updated_at: string;
}

/** Contents of a bundle. */
export interface Bundle {
  project: string;
  environment: string;
  /** Sequence number. It increases with each new bundle of an environment. */
  seq: number;
  created_at: string;
  expires_at?: string;
  /** Public key of the signer. It was compared with an expected key only if the option `signer` was given. */
  signer: string;
  /** Secrets, sorted by key. */
  secrets: BundledSecret[];
}

/**
 * Opens a bundle and returns its contents.
 *
 * @throws {SecretsError<BundleRefusal | "invalid">}
 */
export function openBundle(bundle: Bytes, options: OpenOptions): Bundle;

/** Key and value of a secret. */
export interface Pair {
  key: string;
  value: string;
}

/**
 * Returns the values of a bundle or of a list of secrets by key, in an object without a prototype:
 * `Object.assign(process.env, toRecord(bundle))`. If a key occurs twice, the last value is used.
 *
 * @throws {SecretsError<"invalid">}
 */
export function toRecord(secrets: { secrets: Iterable<Pair> } | Iterable<Pair>): Record<string, string>;

/** Sealed (encrypted) record, the key that opens it, and the context to which it is bound. */
export interface SealedRecord {
  record: Bytes;
  /** Project key (the key that encrypts the records of the project), 32 bytes. */
  key: Bytes;
  keyVersion: number;
  purpose: number;
  hidden: boolean;
  instance: string;
  project: string;
  environment?: string | null;
  /** ID of the secret or other object that owns the record. */
  object: string;
  /** Secret key (name) of the secret, or an empty string if the object is not a secret. */
  keyName: string;
  /** Version of the secret, or `0n` for an object without versions. */
  version: bigint;
}

/**
 * Decrypts a sealed record. Throws an error if the record was changed, or was sealed for another context than the one
 * that the other fields of `SealedRecord` describe.
 *
 * @throws {SecretsError<"undecryptable" | "invalid">}
 */
export function openRecord(record: SealedRecord): string;

/**
 * Returns true if a string has the form and checksum of a service token. Detects typing errors without a request to
 * the service.
 *
 * @throws {SecretsError<"invalid">} if `text` is not a string
 */
export function isPlausibleToken(text: string): boolean;
