/** The choice of a period above figures: the named ones, and a form for any other. */
import { dayText } from '../clicks/days.ts'
import { type Html, html } from '../http/html.ts'
import { type PeriodReading, periodQuery, periods } from './charts/period.ts'
import { FormState } from './form-state.ts'
import { linkButton, submitButton } from './parts/buttons.ts'
import { textField } from './parts/fields.ts'
import { daySpan } from './parts/time.ts'

/** `path` is the page's address without a query. Days that were refused stand in the open, as they were typed. */
export function periodBar({ period, typed, violations }: PeriodReading, path: string, hasFile: boolean): Html {
  const links = periods.map(({ name, label }) => {
    // The browser reserves the width of the bold label for the plain one.
    const shown = html`<span data-label="${label}">${label}</span>`
    return name === period.name && violations.length === 0
      ? html`<a href="${path}?period=${name}" aria-current="true">${shown}</a>`
      : html`<a href="${path}?period=${name}">${shown}</a>`
  })
  const state = new FormState(typed, violations)
  const dates = html`<form method="get" action="${path}" class="dates">${state.withErrors(html`${dateField('from', 'From', state)}${dateField('to', 'To', state)}`)}
${submitButton({ label: 'Show', weight: 'plain' })}</form>`
  const { from, to } = period.range
  const span = daySpan(dayText(from), dayText(to))
  const chosen = html`<button type="button" class="button plain" popovertarget="dates" aria-label="Other days: ${span}">${span}</button>
<div class="menu" id="dates" popover>${dates}</div>`
  const address = `${path}/clicks.csv?${periodQuery(period)}`
  const file = hasFile
    ? linkButton({ label: html`<span class="hidden-text">Download as </span>CSV`, href: address })
    : null
  const own = violations.length > 0 ? dates : html`<div class="actions">${chosen}${file}</div>`
  return html`<div class="periods"><nav aria-label="Period">${links}</nav>${own}</div>`
}

function dateField(name: 'from' | 'to', label: string, state: FormState): Html {
  return textField({ name, label, type: 'date', state: state.of(name) })
}
