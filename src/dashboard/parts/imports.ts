/** What pages say about imports. */
import { type Html, html } from '../../http/html.ts'

const steps = { file: 'File', plan: 'Plan', result: 'Result' }

/** Renders the steps of an import. */
export function importSteps(current: keyof typeof steps): Html {
  const all = Object.entries(steps).map(
    ([name, label]) => html`<li${name === current ? html` aria-current="step"` : null}>${label}</li>`,
  )
  return html`<ol class="steps" aria-label="Steps">${all}</ol>`
}
