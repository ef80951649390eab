// Settings of a client from environment variables.

import { isObject } from "./arguments.js";
import { invalid, reason } from "./errors.js";

// Function of the platform that returns the text of a file. The Node.js entry points set it.
export const platform = { readFile: undefined };

// Returns the address of the service, and the options with the token if there is one. An empty variable is the
// same as a missing one.
export function settings(env = globalThis.process?.env) {
  if (env === undefined) throw invalid("env is required: this platform has no process.env");
  if (!isObject(env)) throw invalid("env must be an object");
  const { SECRETS_URL: url, SECRETS_TOKEN: token, SECRETS_TOKEN_FILE: path } = env;
  if (!url) throw invalid("SECRETS_URL is not set");
  if (token && path) throw invalid("only one of SECRETS_TOKEN and SECRETS_TOKEN_FILE may be set");
  if (path) return { url, options: { token: tokenOf(path) } };
  return { url, options: token ? { token } : {} };
}

function tokenOf(path) {
  const token = textOf(path).trim();
  if (token === "") throw invalid("SECRETS_TOKEN_FILE: the file is empty");
  return token;
}

// An error does not contain the path, which could be a token in the wrong variable.
function textOf(path) {
  if (!platform.readFile) throw invalid("SECRETS_TOKEN_FILE cannot be read on this platform: set SECRETS_TOKEN");
  try {
    return platform.readFile(path);
  } catch (error) {
    throw invalid(`SECRETS_TOKEN_FILE: the file cannot be read${reason(error)}`);
  }
}
