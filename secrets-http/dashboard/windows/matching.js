// Search in the commands of the palette. Pure functions.

/**
 * @typedef {{ id: string, kind: "action" | "section" | "project" | "key", name: string, about?: string, also?: string,
 *   keys?: string, run: () => void }} Command `about` is more text to search for, `also` such text that is not shown, `keys` its
 *   keyboard shortcut
 */

/** Maximum number of commands that are shown. */
export const MAX_RESULTS = 50;

/** True if a text contains the letters in this order, with any others between them. @param {string} text @param {string} letters */
function hasLetters(text, letters) {
  let place = 0;
  for (const letter of text) if (letter === letters[place]) place += 1;
  return place === letters.length;
}

/**
 * Returns how well a command matches: 0 is best, and -1 is no match.
 * @param {Command} command @param {string} wanted in lower case
 */
function rankOf({ name, about = "", also = "" }, wanted) {
  const title = name.toLowerCase();
  const all = `${title} ${about} ${also}`.toLowerCase();
  if (title.startsWith(wanted)) return 0;
  if (title.split(/[\s_.-]+/).some((word) => word.startsWith(wanted))) return 1;
  if (wanted.split(/\s+/).every((word) => all.includes(word))) return 2;
  return hasLetters(title, wanted.replace(/\s+/g, "")) ? 3 : -1;
}

/**
 * Returns the commands that match a text, the best first: those that contain its words, and those with its letters in
 * the same order.
 * @param {Command[]} commands @param {string} text
 */
export function matching(commands, text) {
  const wanted = text.trim().toLowerCase();
  return commands
    .map((command) => ({ command, rank: rankOf(command, wanted) }))
    .filter(({ rank }) => rank >= 0)
    .sort((one, other) => one.rank - other.rank)
    .slice(0, MAX_RESULTS)
    .map(({ command }) => command);
}
