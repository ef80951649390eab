// Scans of a project or a team: findings, worst first, and their statuses.

import { useEffect, useState } from "preact/hooks";

import { person } from "../api.js";
import { html } from "../parts/html.js";
import { Empty, Skeleton, errorText, notify } from "../parts/messages.js";
import { words as shared } from "../words.js";
import { requests } from "./api.js";
import { Field, FormDialog, RequestError } from "./form.js";
import { ActionButton, Age, Frame, Heading } from "./parts.js";
import { words as text } from "./words-scans.js";

/** @typedef {import("./parts.js").Place} Place */

/** Severities of findings, highest first, each with the CSS class of its label. @type {[string, string][]} */
const SEVERITIES = [
  ["high", "bad"],
  ["medium", "soon"],
  ["low", ""],
];

/** CSS class of the label for each severity. @type {Record<string, string>} */
const TAGS = Object.fromEntries(SEVERITIES);

/** Sorts findings: unresolved findings first, then by severity. @param {any[]} findings */
export function sorted(findings) {
  const severities = SEVERITIES.map(([name]) => name);
  const isDone = (/** @type {any} */ { status }) => Number(status !== "unresolved");
  return findings.toSorted((one, other) => isDone(one) - isDone(other) || severities.indexOf(one.severity) - severities.indexOf(other.severity));
}

/**
 * List item for a finding, with a field to change its status.
 * @param {{ finding: any, names: Map<string, string>, onChange: (finding: any, status: string) => void }} properties
 */
function Finding({ finding, names, onChange }) {
  const { rule_id, description, severity, path, line, redacted, matches_secret: match, status } = finding;
  const place = path ? (line ? text.line(path, line) : path) : line && text.place(line);
  const where = match && [names.get(match.environment_id), match.key].filter(Boolean).join(" / ");
  return html`<li class="finding">
    <span class=${`tag ${TAGS[severity]}`}>${text.severities[severity]}</span>
    <div class="what">
      <p><strong>${description || rule_id}</strong>${place && html` <code>${place}</code>`}</p>
      <p class="quiet"><code>${rule_id}</code>${redacted && html` · <code>${redacted}</code>`}${match && html` · ${text.matches} <code>${where || text.stored}</code>`}</p>
    </div>
    <select aria-label=${text.status(rule_id)} onChange=${(/** @type {any} */ { target }) => onChange(finding, target.value)}>
      ${text.statuses.map(([value, label]) => html`<option key=${value} value=${value} selected=${value === status}>${label}</option>`)}
    </select>
  </li>`;
}

/**
 * Findings of a scan, loaded when the user opens it.
 * @param {{ scan: any, isOpen: boolean, names: Map<string, string> }} properties
 */
function Findings({ scan, isOpen, names }) {
  const [found, setFound] = useState(/** @type {{ findings?: any[], error?: any }} */ ({}));
  useEffect(() => {
    if (isOpen) requests.scan(scan.id).then(({ findings }) => setFound({ findings: sorted(findings) }), (error) => setFound({ error }));
  }, [isOpen]);
  const change = async (/** @type {any} */ finding, /** @type {string} */ status) => {
    try {
      const changed = await requests.changeFinding(finding, { status });
      setFound(({ findings }) => ({ findings: findings?.map((other) => (other.id === changed.id ? changed : other)) }));
      notify({ text: text.changed });
    } catch (error) {
      // Shows the stored status again.
      setFound(({ findings }) => ({ findings: findings && [...findings] }));
      notify({ text: errorText(error), isBad: true });
    }
  };
  const { findings, error } = found;
  return html`<${RequestError} error=${error} />
    ${!findings && !error && html`<${Skeleton} rows=${2} />`}
    ${scan.truncated && html`<p class="quiet">${text.truncated}</p>`}
    ${findings && html`<ul class="findings">${findings.map((finding) => html`<${Finding} key=${finding.id} finding=${finding} names=${names} onChange=${change} />`)}</ul>`}`;
}

/**
 * Card of a scan, with its findings.
 * @param {{ scan: any, names: Map<string, string>, canDelete: boolean, onDelete: () => void }} properties
 */
function Scan({ scan, names, canDelete, onDelete }) {
  const [isOpen, setOpen] = useState(false);
  const { source, findings_count, by_severity, secrets_compared, created_at } = scan;
  const title = source.name || text.types[source.type];
  return html`<li class="entry">
    <div class="what">
      <p class="title">${title} ${SEVERITIES.map(([name, tag]) => by_severity[name] > 0 && html`<span key=${name} class=${`tag ${tag}`}>${text.of(by_severity[name], text.severities[name])}</span> `)}</p>
      <p class="quiet">${text.types[source.type]} · ${text.found(findings_count)} · <${Age} time=${created_at} /> · ${text.compared(secrets_compared)}${source.commit && html` · <code>${source.commit}</code>`}</p>
    </div>
    ${canDelete && html`<button class="danger" aria-label=${`${text.remove}: ${title}`} onClick=${onDelete}>${text.remove}</button>`}
    ${findings_count > 0 &&
    html`<details onToggle=${(/** @type {any} */ { currentTarget }) => setOpen(currentTarget.open)}>
      <summary>${text.show}<span class="unseen"> ${title}</span></summary>
      ${isOpen && html`<${Findings} scan=${scan} isOpen=${isOpen} names=${names} />`}
    </details>`}
  </li>`;
}

/** Dialog to scan text. @param {{ place: any, onClose: () => void, onDone: (scan: any) => void }} properties */
function Create({ place, onClose, onDone }) {
  const [form, setForm] = useState({ name: "", content: "" });
  const set = (/** @type {string} */ field) => (/** @type {any} */ { target }) => setForm((current) => ({ ...current, [field]: target.value }));
  const create = async () => {
    const { name, content } = form;
    onDone(await requests.createScan({ ...place, source: { type: "text", name: name || undefined }, content }));
  };
  return html`<${FormDialog} title=${text.title} submit=${text.scan} isReady=${form.content !== ""} fields=${["source.name", "content"]} onClose=${onClose} request=${create}>
    ${(/** @type {any} */ error) => html`
      <${Field} label=${text.name} name="source.name" hint=${text.nameHint} error=${error}
        control=${(/** @type {any} */ bound) => html`<input ...${bound} type="text" autocomplete="off" value=${form.name} onInput=${set("name")} />`} />
      <${Field} label=${text.content} name="content" hint=${text.contentHint} error=${error}
        control=${(/** @type {any} */ bound) => html`<textarea ...${bound} class="mono" rows="8" autocomplete="off" spellcheck=${false} value=${form.content} onInput=${set("content")}></textarea>`} />`}
  <//>`;
}

/** Returns the request field that names the project or team of a scan. @param {Place} place */
const scopeOf = ({ project, team }) => (project ? { project_id: project.id } : { team_id: team.id });

/**
 * List of scans, with the dialogs to create and delete scans.
 * @param {{ place: Place, scans: any[], reload: () => Promise<void> }} properties
 */
function Scans({ place, scans, reload }) {
  const [asked, setAsked] = useState(/** @type {{ scan?: any } | null} */ (null));
  const names = new Map((place.project?.environments ?? []).map((/** @type {any} */ { id, name }) => [id, name]));
  const done = async (/** @type {string} */ said) => {
    setAsked(null);
    notify({ text: said });
    await reload();
  };
  const remove = async () => {
    await requests.deleteScan(asked?.scan.id);
    await done(text.removed);
  };
  const canDelete = (/** @type {any} */ { created_by }) => place.isAdmin || created_by === person.value?.id;
  return html`<${Heading} title=${shared.sections.names.scans} about=${text.about}>
      <${ActionButton} name="newScan" run=${() => setAsked({})} />
    <//>
    ${scans.length > 0
      ? html`<ul class="items">
          ${scans.map((scan) => html`<${Scan} key=${scan.id} scan=${scan} names=${names} canDelete=${canDelete(scan)} onDelete=${() => setAsked({ scan })} />`)}
        </ul>`
      : html`<${Empty} title=${text.none}><p>${text.noneText}</p><pre><code>secrets scan .</code></pre><//>`}
    ${asked && !asked.scan && html`<${Create} place=${scopeOf(place)} onClose=${() => setAsked(null)} onDone=${(/** @type {any} */ scan) => done(text.found(scan.findings_count))} />`}
    ${asked?.scan &&
    html`<${FormDialog} title=${text.removeTitle} submit=${text.remove} isDangerous onClose=${() => setAsked(null)} request=${remove}>
      ${() => html`<p>${text.removeText}</p>`}
    <//>`}`;
}

/** Section with the scans of a project or a team. @param {{ project?: string, team?: string }} properties */
export function Content({ project, team }) {
  const read = (/** @type {Place} */ place) => requests.scans(scopeOf(place));
  const content = (/** @type {Place} */ place, /** @type {any} */ scans, /** @type {any} */ reload) =>
    html`<${Scans} place=${place} scans=${scans} reload=${reload} />`;
  return html`<${Frame} name="scans" project=${project} team=${team} read=${read} content=${content} />`;
}
