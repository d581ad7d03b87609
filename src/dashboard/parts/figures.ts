import { type Html, html } from '../../http/html.ts'
import { icon } from './icons.ts'
import { count, percent } from './number.ts'

export interface Figure {
  readonly label: string
  readonly value: number
  /** The same figure of the period before, of equal length; without it, no change is shown. */
  readonly before?: number
}

/** One line of three or four numbers with their change. `period` names what they are compared with: "the 30 days before". */
export function figures(all: readonly Figure[], period: string): Html {
  const entries = all.map(
    ({ label, value, before }) =>
      html`<div><dt>${label}</dt><dd><span class="figure">${count(value)}</span>${before === undefined ? null : changeOf(value, before, period)}</dd></div>`,
  )
  return html`<dl class="figures">${entries}</dl>`
}

function changeOf(value: number, before: number, period: string): Html | null {
  if (value === 0 && before === 0) return null
  const title = `${count(before)} in ${period}`
  if (value === before) return html`<span class="change" title="${title}">no change</span>`
  const direction = value > before ? 'up' : 'down'
  const share = before === 0 ? 'from 0' : percent(Math.abs(value - before) / before)
  return html`<span class="change" title="${title}">${icon(direction)}<span class="hidden-text">${direction}</span> ${share}<span class="hidden-text"> against ${period}</span></span>`
}
