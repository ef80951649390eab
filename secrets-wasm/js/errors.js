// Errors of the package.

// Properties of an error besides `kind` and `message`.
const DETAILS = ["code", "fields", "resource", "plan", "limit", "current", "status", "requestId", "retryAfter"];

export class SecretsError extends Error {
  constructor(kind, message, details = {}) {
    super(message);
    this.kind = kind;
    for (const name of DETAILS) {
      if (details[name] !== undefined) this[name] = details[name];
    }
  }

  toJSON() {
    return { ...this, message: this.message };
  }

  static fromJSON({ kind, message, ...details }) {
    return new SecretsError(kind, message, details);
  }
}

// Not the name of the class, which minifiers change.
Object.defineProperty(SecretsError.prototype, "name", { value: "SecretsError", writable: true, configurable: true });

export const invalid = (message) => new SecretsError("invalid", message);

// Error for a field of the input of an operation.
export function invalidField(field, message) {
  const details = { code: "invalid_request", fields: [{ field, message }] };
  return new SecretsError("invalid", `${field} ${message}`, details);
}

// Returns the code or the name of an error of the platform, in parentheses. Its message can contain an
// argument, such as a header or an option.
export function reason(error) {
  const known = [error?.cause?.code, error?.code].find((code) => typeof code === "string" && /^[A-Z][A-Z0-9_]{1,60}$/.test(code));
  const name = /^[A-Z][A-Za-z]{1,60}$/.test(error?.name) ? error.name : undefined;
  const shown = known ?? name;
  return shown === undefined ? "" : ` (${shown})`;
}

// Runs a function of the WebAssembly module. Its errors are thrown as `SecretsError`s, with a stack
// that begins at the caller of `entry`.
export function attempt(entry, run) {
  try {
    return run();
  } catch (error) {
    throw converted(error, entry);
  }
}

// Converts an error of the WebAssembly module, whose stack has only frames of the module.
export function converted(error, entry) {
  if (typeof error?.kind !== "string") return error;
  const made = new SecretsError(error.kind, error.message, error);
  Error.captureStackTrace?.(made, entry);
  return made;
}
