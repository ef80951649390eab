// The user's account: sessions of browsers and command lines, data and deletion.

import { useState } from "preact/hooks";

import { person } from "../api.js";
import { Bar, leave } from "../parts/bar.js";
import { Icon, html } from "../parts/html.js";
import { Skeleton, errorText, notify } from "../parts/messages.js";
import { base, leaveFor } from "../routes.js";
import { exactly, words as shared } from "../words.js";
import { requests } from "./api.js";
import { FormDialog, Typed } from "./form.js";
import { ActionButton, Age, Heading, LoadError, saveFile, useLoaded } from "./parts.js";
import { words } from "./words.js";

const text = words.account;

/**
 * List item for a session of the user, with a button to end it.
 * @param {{ session: any, onEnd: (session: any) => void }} properties
 */
function Session({ session, onEnd }) {
  const { kind, client_name, hostname, os, ip_address, current, created_at, last_used_at, expires_at } = session;
  const name = client_name ?? text.kinds[kind];
  return html`<li class="entry">
    <${Icon} name=${kind === "browser" ? "system" : "terminal"} />
    <div class="what">
      <p class="title">${[name, hostname, os].filter(Boolean).join(" · ")}${current && html` <span class="tag good">${text.current}</span>`}</p>
      <p class="quiet">
        ${text.kinds[kind]}${ip_address && html` · <code>${ip_address}</code>`} · ${text.began} <${Age} time=${created_at} /> ·
        ${" "}${last_used_at ? html`${text.used} <${Age} time=${last_used_at} />` : text.unused} · ${text.expires} <time datetime=${expires_at}>${exactly(expires_at)}</time>
      </p>
    </div>
    ${!current && html`<button aria-label=${`${text.end}: ${name}`} onClick=${() => onEnd(session)}>${text.end}</button>`}
  </li>`;
}

/** List of the user's sessions. @param {{ sessions: any[], reload: () => Promise<void> }} properties */
function Sessions({ sessions, reload }) {
  const [asked, setAsked] = useState(/** @type {any} */ (null));
  const others = sessions.filter(({ current }) => !current).length;
  const close = () => setAsked(null);
  const isAll = asked === "others";
  const end = async () => {
    if (isAll) await requests.endOtherSessions();
    else await requests.endSession(asked.id);
    close();
    notify({ text: isAll ? text.endedOthers : text.ended });
    await reload();
  };
  const sorted = [...sessions].sort((a, b) => Number(b.current) - Number(a.current));
  return html`<div class="subheading">
      <h2>${text.sessions}</h2>
      <${ActionButton} name="endOthers" rights=${{ others }} run=${() => setAsked("others")} />
    </div>
    ${sessions.length > 0
      ? html`<ul class="items">${sorted.map((session) => html`<${Session} key=${session.id} session=${session} onEnd=${setAsked} />`)}</ul>`
      : html`<p class="quiet">${text.none}</p>`}
    ${asked &&
    html`<${FormDialog}
      title=${isAll ? text.endOthersTitle : text.endTitle}
      submit=${isAll ? text.endOthers : text.end}
      isDangerous
      onClose=${close}
      request=${end}
    >${() => html`<p>${isAll ? text.endOthersText(others) : text.endText}</p>`}<//>`}`;
}

/**
 * Part of the account page to download the user's data and to delete the account.
 * @param {{ email: string }} properties
 */
function Data({ email }) {
  const [isAsked, setAsked] = useState(false);
  const [typed, setTyped] = useState("");
  const download = async () => {
    try {
      saveFile(await requests.accountData(), "secrets-account.json", "application/json");
      notify({ text: text.downloaded });
    } catch (error) {
      notify({ text: errorText(error), isBad: true });
    }
  };
  const remove = async () => {
    await requests.deleteAccount(typed);
    leaveFor(`${base}/`);
  };
  return html`<div class="subheading"><h2>${text.data}</h2></div>
    <ul class="items">
      <li class="entry"><p class="what">${text.dataText}</p><${ActionButton} name="download" run=${download} /></li>
      <li class="entry"><p class="what">${text.removeText}</p><${ActionButton} name="deleteAccount" run=${() => setAsked(true)} /></li>
    </ul>
    ${isAsked &&
    html`<${FormDialog} title=${text.removeTitle} submit=${text.remove} isDangerous isReady=${typed === email} fields=${["confirm"]} onClose=${() => setAsked(false)} request=${remove}>
      ${(/** @type {any} */ error) => html`<p>${text.removeText}</p>
        <${Typed} label=${text.removeType(email)} error=${error} value=${typed} onChange=${setTyped} />`}
    <//>`}`;
}

export function Content() {
  const loaded = useLoaded(async () => {
    document.title = `${text.title} · ${shared.product}`;
    return requests.sessions();
  });
  const { data, error, reload } = loaded;
  const { name, email } = person.value;
  return html`<${Bar} place=${text.title} />
    <main class="list section">
      <${Heading} title=${name || email} about=${name && name !== email ? email : undefined}>
        <button onClick=${leave}>${shared.account.signOut}</button>
      <//>
      <${LoadError} ...${loaded} />
      ${!error && !data && html`<${Skeleton} rows=${4} />`}
      ${data && html`<${Sessions} sessions=${data} reload=${reload} /><${Data} email=${email} />`}
    </main>`;
}
