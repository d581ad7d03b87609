import { type Html, html, type Part } from '../../http/html.ts'

export interface Empty {
  readonly title: string
  /** What would be here, and why it is not. */
  readonly why: Part
  /** The one next step. */
  readonly action?: Html
}

/** Stands where there is nothing yet, and teaches. */
export function emptyState({ title, why, action }: Empty): Html {
  return html`<section class="empty"><h2>${title}</h2><p>${why}</p>${action ?? null}</section>`
}
