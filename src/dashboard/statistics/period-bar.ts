import { dayText } from '../../accounts/calendar.ts'
import { icon } from '../../frame/icons.ts'
import { type Html, html } from '../../http/html.ts'
import { type Comparison, type PeriodReading, periodQuery, periods } from '../charts/period.ts'
import { attributes, hiddenFields, linkButton, menuItems, submitButton } from '../parts/buttons.ts'
import { FormState, textField } from '../parts/fields.ts'
import { formatDayRange } from '../parts/format.ts'

interface PeriodBar {
  readonly reading: PeriodReading
  /** The path of the page. */
  readonly path: string
  /** The page's other parameters, which links preserve. */
  readonly fixed?: Readonly<Record<string, string>>
  /** The path of the CSV file. */
  readonly file: string
  /** Whether the page compares periods; true by default. */
  readonly isCompared?: boolean
}

/** Renders the period menu: the named periods, a form for any other, and the comparison. Rejected dates stay visible. */
export function periodBar(bar: PeriodBar): Html {
  const { reading, fixed = {}, file, isCompared = true } = bar
  const { period, violations } = reading
  const links = periods.map(({ name, label }) => {
    const isCurrent = name === period.name && violations.length === 0
    const href = formatHref(bar, periodQuery({ ...period, name }))
    const link = attributes({ href, 'aria-current': isCurrent ? 'true' : null })
    // The stylesheet reserves the width of the bold label for the regular weight.
    return html`<a${link}><span data-label="${label}">${label}</span></a>`
  })
  const dates = datesForm(bar)
  const span = formatDayRange(dayText(period.range.from), dayText(period.range.to))
  const chosen = html`<button type="button" class="button plain" popovertarget="dates" aria-label="Choose dates: ${span}">${span}</button>
<div class="menu" id="dates" popover>${dates}</div>`
  const csv = linkButton({
    label: 'Export CSV',
    href: `${file}?${formatQuery(fixed, periodQuery(period))}`,
  })
  const own =
    violations.length > 0
      ? dates
      : html`<div class="actions">${chosen}${isCompared ? comparisonMenu(bar) : null}${csv}</div>`
  return html`<div class="periods"><nav aria-label="Period">${links}</nav>${own}</div>`
}

function datesForm({ reading, path, fixed }: PeriodBar): Html {
  const { period, typed, violations } = reading
  const state = new FormState(typed, violations)
  const from = textField(state, { name: 'from', label: 'From', type: 'date' })
  const to = textField(state, { name: 'to', label: 'To', type: 'date' })
  const { compare } = Object.fromEntries(new URLSearchParams(periodQuery(period)))
  return html`<form method="get" action="${path}" class="dates">${hiddenFields({ ...fixed, ...(compare && { compare }) })}${state.withErrors(html`${from}${to}`)}
${submitButton({ label: 'Show', weight: 'plain' })}</form>`
}

const comparisonLabels: Readonly<Record<Comparison, readonly [item: string, chosen: string]>> = {
  none: ['No comparison', 'No comparison'],
  previous: ['Previous period', 'vs. previous'],
  year: ['Same period last year', 'vs. last year'],
}

function comparisonMenu(bar: PeriodBar): Html {
  const { period } = bar.reading
  const names = Object.keys(comparisonLabels) as Comparison[]
  const items = names.map((comparison) => ({
    label: comparisonLabels[comparison][0],
    href: formatHref(bar, periodQuery({ ...period, comparison })),
    isCurrent: comparison === period.comparison,
  }))
  const [, chosen] = comparisonLabels[period.comparison]
  return html`<button type="button" class="button plain" popovertarget="compare" aria-label="Compare: ${chosen}"><span>${chosen}</span>${icon('chevron')}</button>
${menuItems('compare', items)}`
}

function formatHref({ path, fixed = {} }: PeriodBar, query: string): string {
  return `${path}?${formatQuery(fixed, query)}`
}

function formatQuery(fixed: Readonly<Record<string, string>>, query: string): string {
  // Commas between ids stay readable.
  const first = new URLSearchParams(fixed).toString().replaceAll('%2C', ',')
  return first === '' ? query : `${first}&${query}`
}
