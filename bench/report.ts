/**
 * Figures as text for people: tables that are Markdown too.
 */
import { type CaseFigures, type Figures, median, startRatio } from './figures.ts'

export function asText(figures: Figures): string {
  const { machine, rounds, cases, growth, shares, processes, verdicts } = figures
  const parts = [`${machine}; ${rounds}\n`]
  if (cases.length > 0) parts.push(table(caseHead, cases.map(caseRow)))
  if (growth.length > 0) parts.push(table(['growth', 'records', 'requests/s', 'CPU'], growth.map(growthRow)))
  if (shares.length > 0) parts.push(table(['one case / another', 'records', 'requests/s', 'CPU'], shares.map(shareRow)))
  parts.push(
    table(['process', 'RSS MB', 'peak MB', 'start ms', 'raw start ms', 'start ratio'], processes.map(processRow)),
  )
  if (verdicts.length > 0) parts.push(...judged(verdicts))
  return parts.join('\n')
}

function judged(verdicts: Figures['verdicts']): string[] {
  const rows = verdicts.map(({ target, figure, reached }) => [target, short(figure), reached ? 'pass' : 'FAIL'])
  const missed = verdicts.filter(({ reached }) => !reached).length
  const sum = missed === 0 ? 'Every target is reached.\n' : `${missed} of ${verdicts.length} targets are missed.\n`
  return [table(['target', 'figure', ''], rows), sum]
}

/** The text with a line that says when it was measured, for README.md here. */
export function asMarkdown(figures: Figures, now: Date): string {
  return `Measured on ${now.toISOString().slice(0, 10)}:\n\n${asText(figures)}`
}

const caseHead = [
  'case',
  'records',
  'req/s',
  'raw req/s',
  'ratio',
  'CPU µs',
  'of it loop',
  'raw CPU µs',
  'CPU ratio',
  'busy',
  'raw busy',
  'p50 ms',
  'p99 ms',
  'raw p99 ms',
  'tick ms',
]

function caseRow({ title, records, waymark, raw, rateRatio, cpuRatio }: CaseFigures): string[] {
  const { rate, cpu, loopCpu, busy, p50, p99, longestTick } = waymark
  const shorts = [
    rate,
    raw.rate,
    rateRatio,
    cpu,
    loopCpu,
    raw.cpu,
    cpuRatio,
    busy,
    raw.busy,
    p50,
    p99,
    raw.p99,
    longestTick,
  ]
  return [title, String(records), ...shorts.map(short)]
}

function growthRow({ title, fewest, most, rate, cpu }: Figures['growth'][number]): string[] {
  return [title, `${fewest} → ${most}`, `× ${short(rate)}`, `× ${short(cpu)}`]
}

function shareRow({ title, records, rate, cpu }: Figures['shares'][number]): string[] {
  return [title, String(records), short(rate), short(cpu)]
}

function processRow(figures: Figures['processes'][number]): string[] {
  const { kind, records, rssMb, peakRssMb, startMs, rawStartMs } = figures
  const shorts = [rssMb, peakRssMb, median(startMs), median(rawStartMs), startRatio(figures)]
  return [`${records} ${kind}`, ...shorts.map(short)]
}

/** Three significant digits, or the whole number. */
function short(value: number): string {
  if (!Number.isFinite(value)) return '–'
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3)
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, at) => Math.max(title.length, 2, ...rows.map((row) => row[at]?.length ?? 0)))
  const isText = (at: number) => at === 0 || head[at] === ''
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => (isText(at) ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join(' | ')} |\n`
  const rule = `|${widths.map((width, at) => (isText(at) ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|\n`
  return line(head) + rule + rows.map(line).join('')
}
