/** Reason why a bundle cannot be opened. */
export type BundleRefusal =
  /** The data is not a bundle, or breaks a rule of the format. */
  | "malformed"
  /** The bundle has a version or algorithm that this reader does not support. */
  | "unsupported"
  /** The bundle cannot be opened with this key or passphrase. */
  | "no_recipient"
  /** The bundle was changed, reordered or truncated. */
  | "tampered"
  /** The bundle was signed by another signer, or a private key was given without a signer. */
  | "untrusted"
  /** The bundle has expired. */
  | "expired"
  /** The bundle is older than `atLeast`. */
  | "stale";

/** Error of this package. `kind` is the reason, for programs. Never contains a secret value. */
export interface SecretsError<Kind extends string = string> extends Error {
  kind: Kind;
}

/** Credential that opens a bundle: exactly one of a passphrase, a key and a private key. */
export type Unlock =
  /** Passphrase of 12 to 1,024 characters. Deriving its key takes about a second and 64 MiB. */
  | { passphrase: string; key?: undefined; privateKey?: undefined }
  /** Key generated for this bundle: `scbk_…`. */
  | { key: string; passphrase?: undefined; privateKey?: undefined }
  /** Private key of a recipient: `scbx_…`. Requires `signer`. */
  | { privateKey: string; signer: string; passphrase?: undefined; key?: undefined };

/** Options for opening a bundle. */
export type OpenOptions = Unlock & {
  /** Expected signer: `scbs_…`. Any signer is accepted if it is not given. */
  signer?: string;
  /** Minimum `seq`: that of the last bundle opened for the environment. */
  atLeast?: number;
  /** Current time in seconds since 1970. Default: the system clock. */
  now?: number;
};

/** Secret in a bundle. */
export interface BundledSecret {
  key: string;
  value: string;
  description?: string;
  /** Version of the value, from 1. */
  version: number;
  /** Ancestor environment that the secret is inherited from, if any. */
  inherited_from?: string;
  /** Time of the last change to the secret. */
  updated_at: string;
}

/** Contents of a bundle. */
export interface Bundle {
  project: string;
  environment: string;
  /** Sequence number, which grows with each bundle of an environment. */
  seq: number;
  created_at: string;
  expires_at?: string;
  /** Public key of the signer. It is checked only if the option `signer` was given. */
  signer: string;
  /** Secrets, sorted by key. */
  secrets: BundledSecret[];
}

/**
 * Opens a bundle and returns its contents.
 *
 * @throws {SecretsError<BundleRefusal | "invalid">}
 */
export function openBundle(bundle: Uint8Array, options: OpenOptions): Bundle;

/** Sealed record, the key that opens it, and the context that it is bound to. */
export interface SealedRecord {
  record: Uint8Array;
  /** Project key, 32 bytes. */
  key: Uint8Array;
  keyVersion: number;
  purpose: number;
  hidden: boolean;
  instance: string;
  project: string;
  environment?: string | null;
  /** ID of the secret or other object that owns the record. */
  object: string;
  /** Empty for objects without a key name. */
  keyName: string;
  /** 0n for objects without a version. */
  version: bigint;
}

/**
 * Decrypts a sealed record. Fails unless the record is intact and was sealed for this context.
 *
 * @throws {SecretsError<"undecryptable" | "invalid">}
 */
export function openRecord(record: SealedRecord): string;

/** True if a text has the form and checksum of a service token. Detects typing errors offline. */
export function isPlausibleToken(text: string): boolean;
