// Texts of the scans.

import { count, plural } from "../words.js";

export const words = {
  about: "Texts and files that were searched for leaked credentials. The service stores no scanned content.",
  create: "Scan a text",
  title: "Scan a text",
  name: "Name",
  nameHint: "The source of the text, such as deploy.sh. Optional.",
  content: "Text",
  contentHint: "Compared with the stored secrets, and not stored.",
  scan: "Scan",
  none: "No scans",
  noneText: "Scan a text here, or files on the command line:",
  types: /** @type {Record<string, string>} */ ({ text: "text", files: "files", findings: "findings of another scanner" }),
  found: (/** @type {number} */ number) => (number ? plural(number, "finding") : "nothing found"),
  severities: /** @type {Record<string, string>} */ ({ high: "high", medium: "medium", low: "low" }),
  of: (/** @type {number} */ number, /** @type {string} */ severity) => `${count(number)} ${severity}`,
  truncated: "There were more than 1,000 findings. The most severe ones are kept.",
  compared: (/** @type {number} */ number) => `compared with ${plural(number, "stored secret")}`,
  show: "Findings",
  line: (/** @type {string} */ path, /** @type {number} */ line) => `${path}:${line}`,
  place: (/** @type {number} */ line) => `line ${line}`,
  matches: "same value as",
  stored: "a stored secret",
  status: (/** @type {string} */ rule) => `Status of ${rule}`,
  statuses: /** @type {[string, string][]} */ ([
    ["unresolved", "unresolved"],
    ["resolved", "resolved"],
    ["false_positive", "false positive"],
    ["ignored", "ignored"],
  ]),
  changed: "The status is saved.",
  remove: "Delete",
  removeTitle: "Delete this scan?",
  removeText: "The findings are deleted. The statuses false positive and ignored stay valid for later scans.",
  removed: "The scan is deleted.",
};
