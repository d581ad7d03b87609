import { type Html, html } from '../../http/html.ts'
import { percent } from '../parts/number.ts'

/** How a figure differs from that of the period before: a few characters, and words for screen readers. */
export function change(now: number, before: number): Html {
  const [text, spoken] = wordsOf(now, before)
  return html`<span class="change"><span aria-hidden="true">${text}</span><span class="hidden-text">${spoken}</span></span>`
}

function wordsOf(now: number, before: number): [text: string, spoken: string] {
  if (before === 0 && now > 0) return ['new', 'none in the period before']
  const share = now === before ? percent(0) : percent(Math.abs(now - before) / before)
  if (share === percent(0)) return ['no change', 'no change against the period before']
  return now > before
    ? [`+${share}`, `${share} more than in the period before`]
    : [`−${share}`, `${share} fewer than in the period before`]
}
