// Texts of the dashboard, and dates and numbers in the language of the browser.

/** @param {number} number @param {string} one @param {string} [many] */
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

export const words = {
  product: "secrets",
  home: "secrets: projects",
  loading: "Loading…",
  retry: "Try again",
  reload: "Reload the page",
  close: "Close",
  cancel: "Cancel",
  errors: {
    network: "The service cannot be reached",
    networkHint: "Check the connection, then try again.",
    late: "This part of the page cannot be loaded",
    lateHint: "Check the connection. If the service has been updated meanwhile, reload the page.",
    unknown: "The service answered with an error",
    requestId: "Request",
    gone: "Not found",
    goneHint: "It does not exist, or you have no access to it. An owner or admin of the team can give you access.",
    page: "There is no such page",
    toProjects: "Go to your projects",
    busy: "Too many requests. Wait a moment, then try again.",
  },
  signedOut: {
    title: "Sign in",
    text: "The dashboard shows the secrets of your projects.",
    button: "Sign in",
    with: (/** @type {string} */ issuer) => `Sign in with ${issuer}`,
    dev: "Open the link that secrets-http dev printed. For another link, run:",
    none: "Sign-in with the browser is not set up on this server. The command line and the API work without it.",
    again: "Your session has ended",
    againText: "Sign in again to continue. This page stays as it is.",
    againDone: "Continue",
  },
  account: { menu: "Account", settings: "Sessions", signOut: "Sign out", api: "API documentation" },
  palette: "Search and commands",
  form: { check: "Correct the marked fields." },
  sections: {
    ofProject: "Project",
    ofTeam: "Team",
    names: /** @type {Record<string, string>} */ ({
      secrets: "Secrets",
      environments: "Environments",
      rotations: "Rotations",
      scans: "Scans",
      tokens: "Tokens",
      access: "Access",
      audit: "Audit",
      members: "Members",
      usage: "Usage",
      settings: "Settings",
    }),
    letters: /** @type {Record<string, string>} */ ({
      secrets: "s",
      environments: "e",
      rotations: "r",
      scans: "c",
      tokens: "t",
      access: "m",
      members: "m",
      audit: "a",
      usage: "u",
      settings: "o",
    }),
  },
  theme: { system: "Theme: system", light: "Theme: light", dark: "Theme: dark" },
  grid: {
    label: (/** @type {string} */ project) => `Secrets of ${project}`,
    key: "Key",
    keys: (/** @type {number} */ number) => plural(number, "key"),
    some: (/** @type {number} */ shown, /** @type {number} */ all) => `${count(shown)} of ${plural(all, "key")}`,
    missing: (/** @type {number} */ number) => `${count(number)} missing`,
    values: (/** @type {number} */ number) => plural(number, "value"),
    filter: "Filter keys",
    shows: {
      missing: "Missing",
      override: "Overridden",
      hidden: "Hidden",
      managed: "Managed",
      recent: "Changed in 7 days",
    },
    compare: "Compare environments",
    equal: "Mark equal values",
    equalHint: "The service compares the values without sending them. The comparison is recorded in the audit log.",
    legend: "Legend and shortcuts",
    noMatch: "No key matches the filter",
    noMatchText: "Change the text, or turn off the marks.",
    clear: "Clear the filter",
    empty: "No secrets yet",
    emptyText: "Add a key, paste the text of a .env file here, or import a file of variables on the command line, in the folder of your program:",
    noEnvironments: "No environment",
    noEnvironmentsText: "This project has no environments yet.",
    noRights: "You have no access to the environments of this project. An owner or admin of the team can give you access.",
    environment: "Environment",
  },
  cell: {
    own: (/** @type {number} */ version) => `own value, v${version}`,
    override: (/** @type {string} */ from, /** @type {number} */ version) => `overrides ${from}, v${version}`,
    inherited: (/** @type {string} */ from) => `inherited from ${from}`,
    hidden: (/** @type {string | undefined} */ from) => (from ? `hidden here, overrides ${from}` : "hidden here"),
    inheritedHidden: (/** @type {string} */ from) => `hidden by ${from}`,
    managed: (/** @type {string} */ rotation, /** @type {number} */ version) =>
      `managed by rotation ${rotation}, v${version}`,
    missing: "missing",
    absent: "no value",
    noAccess: "no access",
    restricted: "the environment that holds the value may not be read",
    equal: (/** @type {string} */ others) => `same value as ${others}`,
    hiddenShort: "hidden",
    changed: (/** @type {string} */ age) => `changed ${age}`,
    reveal: "Reveal",
    hide: "Hide",
    copy: "Copy",
    loading: "Loading…",
    revealed: "Recorded in the audit log. Hidden again after 30 seconds.",
    lines: (/** @type {number} */ number) => `${count(number)} lines`,
    empty: "empty value",
    failed: "Not revealed",
  },
  selected: { copyTo: "Copy to…" },
  edit: {
    edit: "Edit",
    add: "Add key",
    hide: "Hide here",
    delete: "Delete",
    uncover: "Remove override",
    giveUp: "Undo change",
    unsaved: "Not saved",
    conflict: "Conflict, not saved",
    change: {
      set: "new value",
      created: "new secret",
      copy: (/** @type {string} */ from) => `copy of ${from}`,
      hide: "hidden here",
      delete: "deleted",
      describe: "new description",
      uncovered: (/** @type {string} */ from) => `override removed, then inherited from ${from}`,
    },
    inheritors: (/** @type {string} */ names, /** @type {number} */ number) => `${names} ${number === 1 ? "inherits" : "inherit"} this.`,
    bar: "Changes that are not saved",
    count: (/** @type {number} */ number, /** @type {number} */ environments) =>
      `${plural(number, "change")} in ${plural(environments, "environment")}`,
    conflicts: (/** @type {number} */ number) => plural(number, "conflict"),
    discard: "Discard",
    discarded: "The changes are discarded.",
    undo: "Undo",
    review: "Review and save",
    leave: "There are changes that are not saved. Leave this page and lose them?",
  },
  large: "The file is larger than 4 MiB. Import it on the command line.",
  history: { button: "History" },
  column: { reveal: "Reveal all values" },
  copiedOf: (/** @type {string} */ key, /** @type {string} */ environment) => `Copied ${key} of ${environment}. The read is recorded.`,
  copyRefused: "The browser did not allow copying. The value is selected below: press Ctrl-C.",
  clearClipboard: "Clear the clipboard",
  cleared: "The clipboard is cleared.",
  clearRefused: "The browser did not allow clearing the clipboard.",
  changedSecrets: (/** @type {number} */ number, /** @type {string} */ environments) =>
    `${plural(number, "secret")} changed in ${environments}`,
};

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
