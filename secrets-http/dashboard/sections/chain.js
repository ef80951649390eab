// State of a team's audit chain, which the service verifies on request.

import { useState } from "preact/hooks";

import { html } from "../parts/html.js";
import { requests } from "./api.js";
import { RequestError, useRequest } from "./form.js";
import { ActionButton } from "./parts.js";
import { words } from "./words.js";

/**
 * @typedef {{ status: "valid" | "broken", checked: number, unchecked: number, unsealed: number, broken_position?: number }} Chain
 *   `unchecked` is the number of older entries, which are not verified
 */

const text = words.audit.chain;

/** Alert about a chain that something other than the service has changed. @param {{ position?: number }} properties */
const Broken = ({ position }) => html`<div class="failure" role="alert">
  <p><strong>${text.broken(position)}</strong></p>
  <p>${text.brokenText}</p>
</div>`;

/** Button that verifies the audit chain of a team, and the result. @param {{ place: import("./parts.js").Place }} properties */
export function ChainStatus({ place }) {
  const [chain, setChain] = useState(/** @type {Chain | null} */ (null));
  const { isBusy, error, run } = useRequest(async () => {
    setChain(null);
    setChain(await requests.verifyAudit(place.team.id));
  });
  return html`<div class="tested">
      <${ActionButton} name="verify" rights=${place} run=${() => run(undefined)} />
      <span role="status">${isBusy ? text.verifying : chain?.status === "valid" && text.valid(chain)}</span>
    </div>
    ${chain?.status === "broken" && html`<${Broken} position=${chain.broken_position} />`}
    <${RequestError} error=${error} />`;
}
