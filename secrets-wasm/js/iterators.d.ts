import type { AuditEntry, AuditOperations, CallOptions, SecretOperations, SecretVersion } from "./operations.js";

/** Filter of `audit.iterate`: the input of `audit.list`, except that `from` and `to` can also be a `Date`. */
export type AuditFilter = Omit<NonNullable<Parameters<AuditOperations["list"]>[0]>, "from" | "to"> & {
  from?: string | Date;
  to?: string | Date;
};

declare module "./operations.js" {
  interface AuditOperations {
    /** Iterates over the entries of the audit log. Entries are requested in pages of at most `limit` entries. */
    iterate(input?: AuditFilter, options?: CallOptions): AsyncGenerator<AuditEntry, void, undefined>;
  }

  interface SecretOperations {
    /**
     * Iterates over the previous versions of a secret, newest first. Versions are requested in pages of at most
     * `limit` versions.
     */
    iterateHistory(
      input: Parameters<SecretOperations["history"]>[0],
      options?: CallOptions,
    ): AsyncGenerator<SecretVersion, void, undefined>;
  }
}
