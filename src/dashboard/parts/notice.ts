import { type Html, html, type Part } from '../../http/html.ts'
import { icon } from './icons.ts'

/** One line about what has just happened. `action`: how to undo it, where that is possible; it follows the words. */
export function notice(kind: 'done' | 'warning', text: Part, action: Html | null = null): Html {
  const words = html`<p>${text}</p>`
  const line = action === null ? words : html`<div class="line">${words} ${action}</div>`
  return html`<div class="notice ${kind}" role="status">${icon(kind)}${line}</div>`
}
