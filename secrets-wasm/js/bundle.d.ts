/** Why a bundle does not open. */
export type BundleRefusal =
  /** It is no bundle, or breaks a rule of the format. */
  | "malformed"
  /** It is of a version or kind that this reader does not know. */
  | "unsupported"
  /** It is for another key or passphrase. */
  | "no_recipient"
  /** It was changed, cut or put together by somebody else. */
  | "tampered"
  /** It is signed by another than was named; or a private key opens it and nobody was named. */
  | "untrusted"
  /** Its time is over. */
  | "expired"
  /** It is older than one that was seen already. */
  | "stale";

/** What is thrown: `kind` says why, for programs. Never holds a value. */
export interface SecretsError<Kind extends string = string> extends Error {
  kind: Kind;
}

/** With what a bundle is opened: one of the three. */
export type Unlock =
  /** The passphrase it was made for: 12 to 1,024 characters. Takes a second, and 64 MiB. */
  | { passphrase: string; key?: undefined; privateKey?: undefined }
  /** The key that was drawn for it: `scbk_…`. */
  | { key: string; passphrase?: undefined; privateKey?: undefined }
  /** The private key of a pair for whose public key it was made: `scbx_…`. Needs `signer`. */
  | { privateKey: string; signer: string; passphrase?: undefined; key?: undefined };

/** How a bundle is opened. */
export type OpenOptions = Unlock & {
  /** Who must have signed: `scbs_…`. Without it nobody in particular. */
  signer?: string;
  /** The least `seq` it may have: that of the last one seen of its environment. */
  atLeast?: number;
  /** The present moment, in seconds since 1970; the clock's where it is not given. */
  now?: number;
};

/** A secret in a bundle. */
export interface BundledSecret {
  key: string;
  value: string;
  description?: string;
  /** Counts the values it has had, from 1. */
  version: number;
  /** The environment that held it, where that is an ancestor of the bundle's. */
  inherited_from?: string;
  /** When anything of it last changed. */
  updated_at: string;
}

/** What a bundle holds, and says of itself. */
export interface Bundle {
  project: string;
  environment: string;
  /** Grows with each bundle of an environment. */
  seq: number;
  created_at: string;
  expires_at?: string;
  /** Who signed it. Compared with nobody unless `signer` was given. */
  signer: string;
  /** By key. */
  secrets: BundledSecret[];
}

/**
 * Opens a bundle: all of it, if it is whole and for this key.
 *
 * @throws {SecretsError<BundleRefusal | "invalid">}
 */
export function openBundle(bundle: Uint8Array, options: OpenOptions): Bundle;

/** A sealed record, the key that opens it, and what it was sealed for. */
export interface SealedRecord {
  record: Uint8Array;
  /** The project's key, 32 bytes. */
  key: Uint8Array;
  keyVersion: number;
  purpose: number;
  hidden: boolean;
  instance: string;
  project: string;
  environment?: string | null;
  /** The secret, or whatever else the record belongs to. */
  object: string;
  /** Empty where there is none. */
  keyName: string;
  /** 0n where there is none. */
  version: bigint;
}

/**
 * Opens a sealed record: its value, if the record is whole and belongs where it is said to.
 *
 * @throws {SecretsError<"undecryptable" | "invalid">}
 */
export function openRecord(record: SealedRecord): string;

/** Whether a text can be a service token: says no to a typing error, without asking a server. */
export function isPlausibleToken(text: string): boolean;
