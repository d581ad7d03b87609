/** The metrics that servers export, compared with the files and the page that name them. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parse } from 'yaml'
import { readConfig } from '../src/config/config.ts'
import { startApp } from './app.ts'
import { sendRequest } from './client.ts'
import { newFolder } from './processes.ts'
import { repository } from './scripts.ts'

interface Rule {
  readonly record?: string
  readonly alert?: string
  readonly expr: string
  readonly for?: string
  readonly labels?: { readonly severity: string }
  readonly annotations?: { readonly summary: string; readonly description: string }
}

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[]
}

const read = (file: string) => readFileSync(join(repository, file), 'utf8')
const page = read('docs/monitoring.md')
const { groups } = parse(read('deploy/prometheus-rules.yml')) as { groups: { name: string; rules: Rule[] }[] }
const rules = groups.flatMap((group) => group.rules)
const alerts = rules.filter(({ alert }) => alert !== undefined)
const dashboard = JSON.parse(read('deploy/grafana-dashboard.json')) as {
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] }
  readonly panels: readonly Panel[]
}

interface Exported {
  /** The metrics of each server. */
  readonly texts: readonly string[]
  readonly text: string
  /** Types by name. */
  readonly types: Readonly<Record<string, string>>
}

/** Starts an app on each engine, one of them with a sink, and returns their metrics. */
async function exportedMetrics(t: TestContext): Promise<Exported> {
  const folder = newFolder(t)
  const { clicksSink } = readConfig({ CLICKS_SINK: `jsonl:${join(folder, 'clicks.jsonl')}`, CLICKS_SPOOL: folder })
  const apps = [await startApp({ engine: 'sqlite', clicksSink }), await startApp({ engine: 'postgres' })]
  const texts = []
  for (const { opsPort } of apps) {
    const target = { agent: undefined, port: opsPort, method: 'GET', path: '/metrics' }
    texts.push((await sendRequest(target, { key: null })).text)
  }
  const text = texts.join('\n')
  return {
    texts,
    text,
    types: Object.fromEntries([...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, ...pair]) => pair)),
  }
}

/**
 * Asserts that each metric exists, and each error code and kind of response that a selector names. Expressions use the
 * series of a histogram, and prose its name.
 */
function checkExpression(expr: string, { text, types }: Exported, isProse = false): void {
  const recorded = rules.map(({ record }) => record)
  for (const [name] of expr.matchAll(/(?<![\w:])(?:waymark|process|nodejs)[_:][\w:]*/g)) {
    const base = name.replace(/_(bucket|sum|count)$/, '')
    const isOfHistogram = name !== base && types[base] === 'histogram'
    const isNumber = name in types && (isProse || types[name] !== 'histogram')
    assert.ok(isOfHistogram || isNumber || recorded.includes(name), `${name} is not exported: ${expr}`)
  }
  for (const [selector] of expr.matchAll(/\b(code|answer)="[^"]*"/g)) {
    assert.ok(text.includes(selector), `No metric has ${selector}: ${expr}`)
  }
  for (const brackets of ['()', '[]', '{}']) {
    const [opened, closed] = [...brackets].map((bracket) => expr.split(bracket).length)
    assert.equal(opened, closed, expr)
  }
}

test('servers export every metric that the files and the page name', async (t) => {
  const exported = await exportedMetrics(t)

  await t.test('docs/monitoring.md lists every metric of Waymark with its type and its help text', () => {
    const rows = [...page.matchAll(/^\| `(waymark_\w+)` \| (\w+) \| (.*) \|$/gm)].map(([, ...row]) => row.join(' '))
    const own = [...exported.text.matchAll(/^# HELP (waymark_\w+) (.*)$/gm)]
    const expected = own.map(([, name = '', help]) => `${name} ${exported.types[name]} ${help}`)
    assert.deepEqual(rows.sort(), [...new Set(expected)].sort())
  })

  await t.test('counters, and only counters, end in _total', () => {
    const counters = Object.keys(exported.types).filter((name) => exported.types[name] === 'counter')
    const totals = Object.keys(exported.types).filter((name) => name.endsWith('_total'))
    assert.ok(totals.includes('waymark_sink_sent_rows_total'))
    assert.deepEqual(counters, totals)
    const isSinceStart = /^# HELP (waymark_\w+) .*since the start/gm
    for (const [, name = ''] of exported.text.matchAll(isSinceStart))
      assert.equal(exported.types[name], 'counter', name)
  })

  const { error: noPromtool } = spawnSync('promtool', ['--version'])
  await t.test('promtool accepts the metrics', { skip: noPromtool && 'promtool is not on the PATH' }, () => {
    for (const input of exported.texts) {
      const { status, stderr } = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' })
      assert.deepEqual([status, stderr], [0, ''])
    }
  })

  await t.test('documents name only metrics that exist', () => {
    const files = globSync(['*.md', 'docs/**/*.md', 'bench/*.md'], { cwd: repository })
    assert.ok(files.includes('docs/redirects.md') && files.some((file) => file.startsWith('docs/adr/')))
    for (const file of files) {
      for (const [, code = ''] of read(file).matchAll(/`(waymark_[^`\n]*)`/g)) checkExpression(code, exported, true)
    }
  })

  await t.test('deploy/prometheus-rules.yml names only metrics that exist', () => {
    assert.ok(alerts.length >= 20)
    for (const { expr } of rules) checkExpression(expr, exported)
  })

  await t.test('deploy/grafana-dashboard.json names only metrics that exist', () => {
    const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    const queries = dashboard.templating.list.map(({ definition = '' }) => definition)
    assert.ok(expressions.length > 20)
    for (const expr of [...expressions, ...queries]) checkExpression(expr, exported)
  })
})

test('every alert has a unique name, a severity, a summary and a row in docs/monitoring.md', () => {
  const names = alerts.map(({ alert }) => String(alert))
  assert.deepEqual(names, [...new Set(names)])
  for (const { alert, for: duration = '0s', labels, annotations, ...rule } of alerts) {
    assert.deepEqual(Object.keys(rule), ['expr'])
    assert.match(String(alert), /^Waymark[A-Z]\w+$/)
    assert.match(duration, /^\d+[sm]$/)
    assert.match(String(labels?.severity), /^(critical|warning)$/)
    assert.deepEqual(Object.keys(annotations ?? {}), ['summary', 'description'])
  }
  const rows = [...page.matchAll(/^\| `(Waymark\w+)` \| (critical|warning) \| \S/gm)].map(([, ...row]) => row)
  assert.deepEqual(
    rows,
    alerts.map(({ alert, labels }) => [alert, labels?.severity]),
  )
})
