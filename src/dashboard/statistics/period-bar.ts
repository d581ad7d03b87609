import { dayText } from '../../analytics/calendar.ts'
import { type Html, html } from '../../http/html.ts'
import { type PeriodReading, periodQuery, periods } from '../charts/period.ts'
import { attributes, linkButton, submitButton } from '../parts/buttons.ts'
import { FormState, textField } from '../parts/fields.ts'
import { formatDayRange } from '../parts/format.ts'

/** Renders the period menu: the named periods, and a form for any other. Rejected dates stay visible. */
export function periodBar({ period, typed, violations }: PeriodReading, path: string, hasFile: boolean): Html {
  const links = periods.map(({ name, label }) => {
    const isCurrent = name === period.name && violations.length === 0
    const link = attributes({ href: `${path}?period=${name}`, 'aria-current': isCurrent ? 'true' : null })
    // The stylesheet reserves the width of the bold label for the regular weight.
    return html`<a${link}><span data-label="${label}">${label}</span></a>`
  })
  const state = new FormState(typed, violations)
  const from = textField(state, { name: 'from', label: 'From', type: 'date' })
  const to = textField(state, { name: 'to', label: 'To', type: 'date' })
  const dates = html`<form method="get" action="${path}" class="dates">${state.withErrors(html`${from}${to}`)}
${submitButton({ label: 'Show', weight: 'plain' })}</form>`
  const span = formatDayRange(dayText(period.range.from), dayText(period.range.to))
  const chosen = html`<button type="button" class="button plain" popovertarget="dates" aria-label="Choose dates: ${span}">${span}</button>
<div class="menu" id="dates" popover>${dates}</div>`
  const address = `${path}/clicks.csv?${periodQuery(period)}`
  const file = hasFile
    ? linkButton({ label: html`<span class="hidden-text">Download as </span>CSV`, href: address })
    : null
  const own = violations.length > 0 ? dates : html`<div class="actions">${chosen}${file}</div>`
  return html`<div class="periods"><nav aria-label="Period">${links}</nav>${own}</div>`
}
