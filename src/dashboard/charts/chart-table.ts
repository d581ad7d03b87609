import { type Html, html } from '../../http/html.ts'
import type { Counts } from '../../stats/series.ts'
import { count } from '../parts/number.ts'
import { type ClicksOverTime, clicksBefore, shownName } from './buckets.ts'

const shown = {
  clicks: 'Clicks',
  unique_clicks: 'Daily visitors',
  bots: 'Bots',
  previews: 'Previews',
} satisfies Record<keyof Counts, string>
const names = Object.keys(shown) as (keyof Counts)[]
const firstColumn = { hour: 'Hour (UTC)', day: 'Day', month: 'Month' }

/** The figures of a chart, to be unfolded: those of all that has begun. */
export function chartTable(chart: ClicksOverTime): Html {
  const { begun, interval, title } = chart
  const before = clicksBefore(chart)
  const buckets = chart.buckets.slice(0, begun)
  const columns = [...names.map((name) => shown[name]), ...(before ? ['Clicks in the period before'] : [])]
  const row = (name: string, counts: Counts, earlier: number | undefined) =>
    html`<tr><th scope="row">${name}</th>${names.map((each) => html`<td>${count(counts[each])}</td>`)}${
      before ? html`<td>${earlier === undefined ? null : count(earlier)}</td>` : null
    }</tr>`
  return html`<details class="chart-table"><summary>Show as table</summary><div class="chart-scroll" tabindex="0" role="group" aria-label="${title}"><table>
<thead><tr><th scope="col">${firstColumn[interval]}</th>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
<tbody>${buckets.map((bucket, place) => row(shownName(chart, place), bucket, before?.[place]))}</tbody>
<tfoot>${row('Total', totalOf(buckets), before?.reduce(sum, 0))}</tfoot>
</table></div></details>`
}

function totalOf(buckets: ClicksOverTime['buckets']): Counts {
  const of = (name: keyof Counts) => buckets.map((bucket) => bucket[name]).reduce(sum, 0)
  return { clicks: of('clicks'), unique_clicks: of('unique_clicks'), bots: of('bots'), previews: of('previews') }
}

function sum(a: number, b: number): number {
  return a + b
}
