import { type Html, html } from '../../http/html.ts'
import { type IconName, icon } from './icons.ts'

const states: Readonly<Record<string, readonly [word: string, icon: IconName]>> = {
  disabled: ['Disabled', 'off'],
  scheduled: ['Scheduled', 'clock'],
  expired: ['Expired', 'warning'],
}

/** What a link is when it does not simply work; nothing for an active one. */
export function stateBadge(status: string): Html {
  const state = states[status]
  if (state === undefined) return html``
  const [word, name] = state
  return html`<span class="state ${status}">${icon(name)}${word}</span>`
}
