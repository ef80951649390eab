// Bars of reads and changes by day, with the numbers as a table for screen readers.

import { html } from "../parts/html.js";
import { words } from "./words.js";

const text = words.audit;

/** Number of days in the chart. */
const DAYS = 30;

/** Height of the tallest bar, in units of the SVG drawing. */
const HEIGHT = 60;

const DAY = 86_400_000;

const short = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

/** Returns the local date of a time, such as `2027-01-31`. @param {string | number} time */
export function dayOf(time) {
  const date = new Date(time);
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** True if an audited action reads values. @param {string} action */
const isRead = (action) => /(^|\.)(read|exported|compared|secret_read|secrets_read)$/.test(action);

/**
 * Counts the audited reads and changes on each day, up to the day of the newest entry.
 * @param {{ action: string, created_at: string }[]} logs newest first
 * @returns {{ day: string, time: number, reads: number, changes: number }[]}
 */
export function countsOf(logs) {
  /** @type {Map<string, { day: string, time: number, reads: number, changes: number }>} */
  const counts = new Map();
  const newest = new Date(logs[0].created_at).setHours(12, 0, 0, 0);
  const first = newest - (DAYS - 1) * DAY;
  for (let time = first; time <= newest + DAY / 4; time += DAY) {
    counts.set(dayOf(time), { day: dayOf(time), time, reads: 0, changes: 0 });
  }
  for (const { action, created_at } of logs) {
    const count = counts.get(dayOf(created_at));
    if (count) count[isRead(action) ? "reads" : "changes"] += 1;
  }
  return [...counts.values()];
}

/** Bars of the chart: reads and changes on each day. @param {{ counts: ReturnType<typeof countsOf> }} properties */
function Bars({ counts }) {
  const most = Math.max(1, ...counts.map(({ reads, changes }) => reads + changes));
  const units = (/** @type {number} */ number) => (number / most) * HEIGHT;
  return html`<svg viewBox=${`0 0 ${counts.length * 10} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
    ${counts.map(
      ({ day, reads, changes }, place) => html`<g key=${day}>
        <rect class="reads" x=${place * 10 + 1} width="8" y=${HEIGHT - units(reads)} height=${units(reads)} />
        <rect class="changes" x=${place * 10 + 1} width="8" y=${HEIGHT - units(reads) - units(changes)} height=${units(changes)} />
      </g>`,
    )}
  </svg>`;
}

/**
 * Chart of the reads and changes on each day. `isPartial` is true if older entries are not loaded.
 * @param {{ logs: any[], isPartial: boolean }} properties
 */
export function Chart({ logs, isPartial }) {
  const counts = countsOf(logs);
  const sum = (/** @type {"reads" | "changes"} */ kind) => counts.reduce((total, day) => total + day[kind], 0);
  return html`<figure class="chart">
    <figcaption>
      <strong>${text.chart}</strong>
      <span class="key-of reads">${text.reads}</span><span class="key-of changes">${text.changes}</span>
      <span class="quiet">${text.total(sum("reads"), sum("changes"))}. ${isPartial && text.newest}</span>
    </figcaption>
    <${Bars} counts=${counts} />
    <p class="quiet axis"><span>${short.format(counts[0].time)}</span><span>${short.format(counts[counts.length - 1].time)}</span></p>
    <table class="unseen">
      <caption>${text.chart}</caption>
      <thead><tr><th scope="col">${text.day}</th><th scope="col">${text.reads}</th><th scope="col">${text.changes}</th></tr></thead>
      <tbody>${counts.filter(({ reads, changes }) => reads + changes > 0).map(({ day, reads, changes }) => html`<tr key=${day}><th scope="row">${day}</th><td>${reads}</td><td>${changes}</td></tr>`)}</tbody>
    </table>
  </figure>`;
}
