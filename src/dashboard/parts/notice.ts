import { type Html, html, type Part } from '../../http/html.ts'
import { icon } from './icons.ts'

/** One line about what has just happened. `action`: how to undo it, where that is possible. */
export function notice(kind: 'done' | 'warning', text: Part, action: Html | null = null): Html {
  return html`<div class="notice ${kind}" role="status">${icon(kind)}<p>${text}</p>${action}</div>`
}
