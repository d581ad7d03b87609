import { type Html, html, type Part } from '../../http/html.ts'
import { hiddenFields, linkButton, submitButton } from './buttons.ts'
import { onceField } from './once.ts'

export interface Confirmation {
  /** Where the form is sent. */
  readonly action: string
  /** What happens, with figures, a sentence each. */
  readonly consequences: readonly Part[]
  /** What it happens to, where that is more than one thing. */
  readonly things?: readonly Part[]
  /** Repeats what is done to what: "Delete go.acme.com". */
  readonly verb: Part
  /** The way back. */
  readonly cancel: string
  readonly fields?: Readonly<Record<string, string>>
}

/** The question before something is destroyed. Its page's title names the thing. */
export function confirmation({ action, consequences, things = [], verb, cancel, fields = {} }: Confirmation): Html {
  const sentences = consequences.map((each) => html`<p>${each}</p>`)
  const list =
    things.length === 0 ? null : html`<ul class="things">${things.map((each) => html`<li>${each}</li>`)}</ul>`
  return html`<form method="post" action="${action}" class="form">${onceField()}${hiddenFields(fields)}<div class="stack">${list}${sentences}</div>
<div class="actions">${submitButton({ label: verb, weight: 'danger' })}<a class="button plain" href="${cancel}" data-close>Cancel</a></div></form>`
}

/** The link to such a page, in a dialog where scripts run. */
export function confirmLink(label: Part, href: string): Html {
  return linkButton({ label, href, icon: 'remove', inDialog: true })
}
