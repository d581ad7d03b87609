/** What pages say about imports. */
import { type Html, html } from '../../http/html.ts'
import { linkLabels } from '../../links/schema.ts'

const steps = { file: 'File', plan: 'Plan', result: 'Result' }

/** Renders the steps of an import. */
export function importSteps(current: keyof typeof steps): Html {
  const all = Object.entries(steps).map(
    ([name, label]) => html`<li${name === current ? html` aria-current="step"` : null}>${label}</li>`,
  )
  return html`<ol class="steps" aria-label="Steps">${all}</ol>`
}

const fixes: Readonly<Record<string, string>> = {
  unmapped_host: 'No domain is chosen for its host. Choose one above.',
  root_link: 'The address has no path. Set the homepage of the domain instead.',
  duplicate_address: 'An earlier row has the address, with another destination. Delete one of the rows.',
}

/** Says why a row is refused, and how to fix it, without the names of fields in the API. */
export function reasonText(code: string | null, message: string | null): string {
  if (code !== null && Object.hasOwn(fixes, code)) return fixes[code] ?? ''
  const named = (name: string) => linkLabels[name as keyof typeof linkLabels] ?? name
  return (message ?? '').replace(/\b(?:url|[a-z]+(?:_[a-z]+)+)\b/g, (name) => `“${named(name)}”`)
}
