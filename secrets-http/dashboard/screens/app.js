// Chooses the screen.

import { useEffect } from "preact/hooks";

import { Bar } from "../parts/bar.js";
import { html } from "../parts/html.js";
import { Notices } from "../parts/notice.js";
import { Empty, Ended, Failed, SignedOut, Skeleton } from "../parts/states.js";
import { projectsPath, route } from "../routes.js";
import { failure, load, state } from "../session.js";
import { words } from "../words.js";
import { Project } from "./project.js";
import { Projects } from "./projects.js";

function Screen() {
  const current = route.value;
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
