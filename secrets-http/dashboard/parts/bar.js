// The bar at the top of every screen.

import { accountPath, base, projectsPath, teamPath } from "../routes.js";
import { person, signOut } from "../session.js";
import { words } from "../words.js";
import { html } from "./html.js";
import { Icon } from "./icons.js";
import { notify } from "./notice.js";
import { errorText } from "./states.js";
import { nextTheme, theme } from "./theme.js";

async function leave() {
  try {
    await signOut();
  } catch (error) {
    notify({ text: errorText(error), isBad: true });
  }
}

/** Closes the menu when the focus or the pointer leaves it. @param {any} event */
function closeOutside(event) {
  const menu = event.currentTarget;
  if (!menu.contains(event.relatedTarget)) menu.open = false;
}

/** @param {any} event */
function closeOnEscape(event) {
  if (event.key !== "Escape" || !event.currentTarget.open) return;
  event.currentTarget.open = false;
  event.currentTarget.querySelector("summary").focus();
}

function Account() {
  const { email, name, teams = [] } = person.value;
  return html`<details class="menu" onFocusOut=${closeOutside} onKeyDown=${closeOnEscape}>
    <summary aria-label=${`${words.account.menu}: ${email ?? name}`}>
      <span class="who">${email ?? name}</span><${Icon} name="down" />
    </summary>
    <div class="sheet">
      <p class="quiet">${name}<br />${email}</p>
      <a href=${accountPath}>${words.account.settings}</a>
      ${teams.map(
        (/** @type {any} */ { team_id, team }) => html`<a key=${team_id} href=${teamPath(team_id, "members")}>${team?.name ?? words.sections.ofTeam}</a>`,
      )}
      <a href=${`${base}/api/docs`}>${words.account.api}</a>
      <button onClick=${leave}>${words.account.signOut}</button>
    </div>
  </details>`;
}

/** `place` is the name of the project or team. @param {{ place?: string }} properties */
export function Bar({ place }) {
  return html`<header class="bar">
    <nav aria-label=${words.product}>
      <a class="brand" href=${projectsPath} aria-label=${words.home}><span class="logo"><${Icon} name="lock" /></span><span class="name">${words.product}</span></a>
      ${place && html`<${Icon} name="right" /><span class="place">${place}</span>`}
    </nav>
    <button class="bare" aria-label=${words.theme[theme.value]} title=${words.theme[theme.value]} onClick=${nextTheme}>
      <${Icon} name=${theme.value} />
    </button>
    ${person.value && html`<${Account} />`}
  </header>`;
}
