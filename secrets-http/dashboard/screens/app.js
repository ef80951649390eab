// Shows the screen for the current path.

import { useEffect, useState } from "preact/hooks";

import { Bar } from "../parts/bar.js";
import { html } from "../parts/html.js";
import { Notices } from "../parts/notice.js";
import { Empty, Ended, Failed, SignedOut, Skeleton } from "../parts/states.js";
import { projectsPath, route } from "../routes.js";
import { failure, load, state } from "../session.js";
import { words } from "../words.js";
import { Project } from "./project.js";
import { Projects } from "./projects.js";

/**
 * Functions that load the module of a section when it is opened.
 * @type {Record<string, () => Promise<any>>}
 */
const SECTIONS = {
  account: () => import("../sections/account.js"),
  access: () => import("../sections/access.js"),
  audit: () => import("../sections/audit.js"),
  environments: () => import("../sections/environments.js"),
  members: () => import("../sections/members.js"),
  rotations: () => import("../sections/rotations.js"),
  scans: () => import("../sections/scans.js"),
  settings: () => import("../sections/settings.js"),
  tokens: () => import("../sections/tokens.js"),
  usage: () => import("../sections/usage.js"),
};

/** @param {{ name: string, properties?: Record<string, string> }} properties */
function Section({ name, properties = {} }) {
  const [found, setFound] = useState(/** @type {{ Content?: any, error?: any }} */ ({}));
  const begin = () => {
    setFound({});
    SECTIONS[name]().then(({ Content }) => setFound({ Content }), () => setFound({ error: { status: 0 } }));
  };
  useEffect(begin, []);
  const { Content, error } = found;
  if (Content) return html`<${Content} name=${name} ...${properties} />`;
  return html`<${Bar} /><main class="list">
    ${error ? html`<${Failed} error=${error} onRetry=${begin} />` : html`<${Skeleton} rows=${6} />`}
  </main>`;
}

function Screen() {
  const current = route.value;
  if (current.screen === "account") return html`<${Section} key="account" name="account" />`;
  if (current.screen === "section") {
    const { project, section } = current;
    return html`<${Section} key=${`project ${project} ${section}`} name=${section} properties=${{ project }} />`;
  }
  if (current.screen === "team") {
    const { team, section } = current;
    return html`<${Section} key=${`team ${team} ${section}`} name=${section} properties=${{ team }} />`;
  }
  if (current.screen === "projects") return html`<${Projects} />`;
  if (current.screen === "project") return html`<${Project} key=${current.project} name=${current.project} />`;
  const back = html`<a class="button" href=${projectsPath}>${words.errors.toProjects}</a>`;
  return html`<${Bar} /><main><${Empty} title=${words.errors.page} actions=${back} /></main>`;
}

export function App() {
  const current = state.value;
  useEffect(() => {
    if (current !== "in") document.title = words.product;
  }, [current]);
  if (current === "loading") return html`<${Bar} /><main class="list"><${Skeleton} rows=${6} /></main>`;
  if (current === "out") return html`<${SignedOut} />`;
  if (current === "failed") return html`<${Bar} /><main><${Failed} error=${failure.value} onRetry=${load} /></main>`;
  return html`<${Screen} /><${Notices} />${current === "ended" && html`<${Ended} />`}`;
}
