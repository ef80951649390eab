// Entry point of the dashboard.

import { render } from "preact";

import { App } from "./screens/app.js";
import { html } from "./parts/html.js";
import { start } from "./routes.js";
import { load } from "./session.js";
import { applyTheme } from "./parts/theme.js";

applyTheme();
start();
load();
render(html`<${App} />`, /** @type {HTMLElement} */ (document.getElementById("dashboard")));
