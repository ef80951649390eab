// Dates and numbers in the language of the browser.

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "long" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const numbers = new Intl.NumberFormat();

/** Units in seconds. @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["week", 604_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** Returns the age of a time, such as "2 hours ago". @param {string} time */
export function ago(time, now = Date.now()) {
  const seconds = Math.round((Date.parse(time) - now) / 1000);
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ["second", Infinity];
  return relative.format(Math.round(seconds / length), unit);
}

/** Formats date and time. @param {string} time */
export const exactly = (time) => full.format(new Date(time));

/** @param {number} number */
export const count = (number) => numbers.format(number);
