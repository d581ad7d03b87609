import { type Html, html, type Part } from '../../http/html.ts'
import { hiddenFields, linkButton, submitButton } from './buttons.ts'

export interface Confirmation {
  /** Where the form is sent. */
  readonly action: string
  /** What happens, with figures, a sentence each. */
  readonly consequences: readonly Part[]
  /** Repeats what is done to what: "Delete go.acme.com". */
  readonly verb: Part
  /** The way back. */
  readonly cancel: string
  readonly fields?: Readonly<Record<string, string>>
}

/** The question before something is destroyed. Its page's title names the thing. */
export function confirmation({ action, consequences, verb, cancel, fields = {} }: Confirmation): Html {
  const sentences = consequences.map((each) => html`<p>${each}</p>`)
  return html`<form method="post" action="${action}" class="form">${hiddenFields(fields)}<div class="stack">${sentences}</div>
<div class="actions">${submitButton({ label: verb, weight: 'danger' })}<a class="button plain" href="${cancel}" data-close>Cancel</a></div></form>`
}

/** The link to such a page, in a dialog where scripts run. */
export function confirmLink(label: Part, href: string): Html {
  return linkButton({ label, href, icon: 'remove', inDialog: true })
}
