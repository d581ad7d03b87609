import type { Counts } from '../../analytics/statistics/series.ts'
import { icon } from '../../frame/icons.ts'
import { type Html, html } from '../../http/html.ts'
import { countLabels } from '../charts/area-chart.ts'
import { formatCount, formatPercent } from '../parts/format.ts'

/** Renders the totals of a period, and their change if there is a previous period. */
export function figures(now: Counts, before: Counts | null): Html {
  const entries = Object.entries(countLabels).map(([key, label]) => {
    const name = key as keyof Counts
    const change = before && changeOf(now[name], before[name])
    return html`<div><dt>${label}</dt><dd><span class="figure">${formatCount(now[name])}</span>${change}</dd></div>`
  })
  return html`<dl class="figures">${entries}</dl>`
}

function changeOf(value: number, before: number): Html | null {
  if (value === 0 && before === 0) return null
  const title = `${formatCount(before)} in the previous period`
  if (value === before) return html`<span class="change" title="${title}">no change</span>`
  const direction = value > before ? 'up' : 'down'
  const share = before === 0 ? 'from 0' : formatPercent(Math.abs(value - before) / before)
  return html`<span class="change" title="${title}">${icon(direction)}<span class="hidden-text">${direction}</span> ${share}<span class="hidden-text"> compared with the previous period</span></span>`
}
