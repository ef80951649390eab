// Entry point of the dashboard: shows the screen for the current path.

import { render } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { loadSession, session, sessionError } from "./api.js";
import { isBusy } from "./grid/editing.js";
import { Project } from "./grid/project.js";
import { Bar, isPaletteOpen } from "./parts/bar.js";
import { applyTheme, isPaletteKey } from "./parts/browser.js";
import { html } from "./parts/html.js";
import { DIALOG_STYLES, Empty, Ended, Failed, Notices, SECTION_STYLES, SignedOut, Skeleton, late, loadLate } from "./parts/messages.js";
import { projectsPath, route, start } from "./routes.js";
import { words } from "./words.js";

/** True for a screen whose module, of the same name, is loaded when it is opened. @param {string} screen */
const isSection = (screen) => !["secrets", "unknown"].includes(screen);

/** @param {string} name */
const loadSection = (name) => loadLate(() => import(`./sections/${name}.js`), SECTION_STYLES);

/** @param {{ name: string, properties: Record<string, string | undefined> }} properties */
function Section({ name, properties }) {
  const [found, setFound] = useState(/** @type {{ Content?: any, isFailed?: boolean }} */ ({}));
  const begin = () => {
    setFound({});
    loadSection(name).then(({ Content }) => setFound({ Content }), () => setFound({ isFailed: true }));
  };
  useEffect(begin, []);
  const { Content, isFailed } = found;
  if (Content) return html`<${Content} name=${name} ...${properties} />`;
  const actions = html`<button class="main" onClick=${begin}>${words.retry}</button>
    <button onClick=${() => location.reload()}>${words.reload}</button>`;
  return html`<${Bar} /><main class="list">
    ${isFailed ? html`<${Empty} title=${words.errors.late} actions=${actions}><p>${words.errors.lateHint}</p><//>` : html`<${Skeleton} rows=${6} />`}
  </main>`;
}

function Screen() {
  const { screen, ...properties } = route.value;
  if (screen === "secrets") return html`<${Project} key=${properties.project} name=${properties.project} />`;
  if (isSection(screen)) return html`<${Section} key=${JSON.stringify(route.value)} name=${screen} properties=${properties} />`;
  const back = html`<a class="button" href=${projectsPath}>${words.errors.toProjects}</a>`;
  return html`<${Bar} /><main><${Empty} title=${words.errors.page} actions=${back} /></main>`;
}

/**
 * Opens and closes the command palette with its shortcut.
 * @param {boolean} isLoading True while the palette is open but its code is not loaded
 */
function usePaletteKey(isLoading) {
  useLayoutEffect(() => {
    const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
      const isKey = isPaletteKey(event);
      // Text typed for the palette must not run the shortcuts of the screen.
      if (isLoading) event.stopPropagation();
      if (isKey || isLoading) event.preventDefault();
      // Another dialog may contain input that is not saved.
      if (isKey && !event.repeat && (isPaletteOpen.value || !isBusy())) isPaletteOpen.value = !isPaletteOpen.value;
      else if (isLoading && event.key === "Escape") isPaletteOpen.value = false;
    };
    addEventListener("keydown", onKeyDown, true);
    return () => removeEventListener("keydown", onKeyDown, true);
  }, [isLoading]);
}

/** Command palette. Its code is loaded when it is opened for the first time. */
function LatePalette() {
  const [Palette, setPalette] = useState(/** @type {any} */ (null));
  const chosen = useRef(/** @type {(() => void) | null} */ (null));
  const isOpen = isPaletteOpen.value;
  const close = (/** @type {(() => void) | null} */ run = null) => {
    chosen.current = run;
    isPaletteOpen.value = false;
  };
  usePaletteKey(isOpen && !Palette);
  useEffect(() => {
    // The palette is closed and has given the focus back, so that the command can move it.
    if (!isOpen) chosen.current?.();
    chosen.current = null;
    if (!isOpen || Palette) return;
    late(() => import("./windows/palette.js"), DIALOG_STYLES).then((module) => {
      if (module) setPalette(() => module.Palette);
      // Another dialog was opened meanwhile.
      if (!module || isBusy()) close();
    });
  }, [isOpen]);
  return isOpen && Palette && html`<${Palette} onChoose=${close} onClose=${() => close()} />`;
}

function App() {
  const current = session.value;
  useEffect(() => {
    if (current !== "in") document.title = words.product;
  }, [current]);
  if (current === "loading") return html`<${Bar} /><main class="list"><${Skeleton} rows=${6} /></main>`;
  if (current === "out") return html`<${SignedOut} />`;
  if (current === "failed") return html`<${Bar} /><main><${Failed} error=${sessionError.value} onRetry=${loadSession} /></main>`;
  return html`<${Screen} /><${LatePalette} /><${Notices} />${current === "ended" && html`<${Ended} />`}`;
}

applyTheme();
start();
loadSession();
// The section is loaded together with the account of the user. `Section` reports a failure.
const { screen } = route.value;
if (isSection(screen)) loadSection(screen).catch(() => {});
render(html`<${App} />`, /** @type {HTMLElement} */ (document.getElementById("dashboard")));
