// Reads pasted `.env` text, and writes lines of it. Pure functions. A line on whose meaning
// programs do not agree is an error. The command line imports the full format.

/** Maximum number of characters in a key. */
const MAX_KEY = 255;

const LINE = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*(.*?)\s*$/;
const NEVER_PLAIN = /["'`\\$#]/;

/**
 * @typedef {{ values: Map<string, string>, errors: number[] }} Parsed values by key, and the numbers of the lines
 * that cannot be parsed
 */

/**
 * Returns the value that the text after `=` represents, or `null` if programs that read `.env`
 * files do not agree on it.
 * @param {string} text
 */
function valueOf(text) {
  const quote = text[0];
  if (quote === "'" || quote === '"') {
    const inner = text.slice(1, -1);
    const isClosed = text.length > 1 && text.endsWith(quote) && !inner.includes(quote);
    // Within double quotes, programs replace escapes and variables differently.
    return isClosed && (quote === "'" || !/[\\$`]/.test(inner)) ? inner : null;
  }
  return NEVER_PLAIN.test(text) ? null : text;
}

/**
 * Returns the number of lines that the value beginning at the line `start` occupies. A quoted value extends to the
 * closing quote.
 * @param {string[]} lines @param {number} start @param {string} rest
 */
function lengthOf(lines, start, rest) {
  const quote = rest[0];
  if ((quote !== "'" && quote !== '"' && quote !== "`") || rest.indexOf(quote, 1) > 0) return 1;
  const end = lines.findIndex((line, index) => index > start && line.includes(quote));
  // Without a closing quote, all remaining lines belong to the value.
  return (end < 0 ? lines.length : end + 1) - start;
}

/** Parses `KEY=value` lines. @param {string} text @returns {Parsed} */
export function parsed(text) {
  const values = new Map();
  const errors = /** @type {number[]} */ ([]);
  const lines = text.replace(/^\ufeff/, "").split(/\r?\n/);
  for (let start = 0, length = 1; start < lines.length; start += length, length = 1) {
    if (/^\s*(#|$)/.test(lines[start])) continue;
    const [, key, rest = ""] = lines[start].match(LINE) ?? [];
    length = lengthOf(lines, start, rest);
    const whole = length === 1 ? rest : `${lines[start].slice(lines[start].indexOf(rest[0], lines[start].indexOf("=")))}\n${lines.slice(start + 1, start + length).join("\n").trimEnd()}`;
    const value = key && key.length <= MAX_KEY ? valueOf(whole) : null;
    // If a key occurs twice, some programs use the first value and others the last.
    if (value === null || values.has(key) || value.includes("\0")) errors.push(start + 1);
    else values.set(key, value);
  }
  return { values, errors };
}

/** True if at least one line has the form `KEY=value`. @param {string} text */
export const isDotenv = (text) => text.split(/\r?\n/).some((line) => LINE.test(line));

/** Variables that a shell sets itself. The core has the same list (`formats/mod.rs`). */
const SHELL_VARIABLES = new Set([
  "BASHOPTS", "BASHPID", "BASH_ARGV0", "BASH_COMMAND", "BASH_SUBSHELL", "BASH_VERSINFO", "COLUMNS", "DIRSTACK",
  "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "FUNCNAME", "GROUPS", "HISTCMD", "LINENO", "LINES", "OPTIND", "PPID", "RANDOM",
  "SECONDS", "SHELLOPTS", "SRANDOM", "UID", "_",
]);

/**
 * Returns a secret as `KEY=value`, or `null` if programs that read `.env` files do not agree on the
 * line. Line breaks within single quotes are kept.
 * @param {string} key @param {string} value
 */
export function lineOf(key, value) {
  if (!/^\w+$/.test(key) || SHELL_VARIABLES.has(key)) return null;
  // python-dotenv replaces `${…}` even within single quotes.
  if (/[\r\u2028\u2029\0]|\$\{/.test(value)) return null;
  if (/^[A-Za-z0-9_./:@%+,?&=-]*$/.test(value)) return `${key}=${value}`;
  // Even within single quotes, programs read two backslashes, and one at the end of a line, differently.
  if (!/'|\\(?:\\|\n|$)/.test(value)) return `${key}='${value}'`;
  return /["\\$`]/.test(value) ? null : `${key}="${value}"`;
}
