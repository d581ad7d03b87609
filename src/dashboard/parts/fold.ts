import { type Html, html, type Part } from '../../http/html.ts'
import { icon } from './icons.ts'

export interface Fold {
  readonly title: string
  /** What is set inside, in a few words: "Expires 3 March". */
  readonly set?: string
  /** Open from the start, as it must be when a field inside was refused. */
  readonly isOpen?: boolean
  readonly body: Part
}

/** What can be left out of a form, folded away under its theme. */
export function fold({ title, set, isOpen = false, body }: Fold): Html {
  const summary = html`<summary>${icon('chevron', 'chevron')}${title}${set === undefined ? null : html` <span class="set">${set}</span>`}</summary>`
  const inside = html`${summary}<div class="folded">${body}</div>`
  return isOpen ? html`<details class="fold" open>${inside}</details>` : html`<details class="fold">${inside}</details>`
}
