import type { MetricValueWithName, Registry } from 'prom-client'
import type { ErrorCode } from '../errors.ts'
import { failures } from '../http/failures.ts'
import type { RequestCounts } from '../http/request-log.ts'
import { Histogram } from '../lib/histogram.ts'
import type { Meter } from '../storage/port.ts'
import { version } from '../version.ts'

export interface MeasuredServices {
  readonly counts: RequestCounts
  readonly loopDelays: Histogram
  readonly visits: Readonly<Record<string, number>>
  readonly meters: Readonly<Record<string, readonly Meter[]>>
}

type Labels = Readonly<Record<string, string | number>>

/** Returns a function for the metrics as text. The first scrape loads prom-client, which then watches the process. */
export function createMetrics(measured: MeasuredServices) {
  let ofNode: Promise<Registry> | undefined
  return async () => {
    ofNode ??= nodeMetrics()
    const { AggregatorRegistry } = await import('prom-client')
    const ours = AggregatorRegistry.aggregate([readAll(measured)])
    const known = await ofNode
    return { contentType: known.contentType, body: `${await ours.metrics()}\n${await known.metrics()}` }
  }
}

/**
 * Delays that start over with each scrape and lose the first one after it, unlike `waymark_event_loop_delay_seconds`, and
 * gauges with the suffix of counters, which are the sums of other gauges.
 */
const unused = /^nodejs_(eventloop_lag\w*|active_\w+_total)$/

async function nodeMetrics(): Promise<Registry> {
  const { Registry, collectDefaultMetrics } = await import('prom-client')
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const { name } of registry.getMetricsAsArray()) if (unused.test(name)) registry.removeSingleMetric(name)
  return registry
}

const codes = Object.keys(failures) as ErrorCode[]

function readAll({ counts, loopDelays, visits, meters }: MeasuredServices): object[] {
  const requests = Array.from(counts.series.values(), ({ durations, ...labels }) => [labels, durations] as const)
  const visited = Object.entries(visits).map(([answer, count]) => [{ answer }, count] as const)
  return [
    metric('gauge', 'build_info', 'Always 1. The labels have the versions of Waymark and Node.', [
      [{ version, node: process.version }, 1],
    ]),
    metric(
      'histogram',
      'http_request_duration_seconds',
      'Duration of requests from arrival to the last byte of the response, by route, method and status.',
      requests,
    ),
    metric('gauge', 'http_requests_under_way', 'Requests without a response so far.', [[{}, counts.underWay]]),
    metric(
      'counter',
      'http_failures_total',
      'Error responses by code, including responses to data that is not valid HTTP.',
      codes.map((code) => [{ code }, counts.failures.get(code) ?? 0]),
    ),
    metric('histogram', 'event_loop_delay_seconds', 'How late the event loop ran, sampled every 20 ms.', [
      [{}, loopDelays],
    ]),
    metric(
      'counter',
      'visits_total',
      'Requests to the redirect server by kind of response (the label answer).',
      visited,
    ),
    ...Object.entries(meters).flatMap(([component, meters]) =>
      meters.map(({ name, help, value }) =>
        value instanceof Histogram
          ? metric('histogram', `${component}_${name}`, help, [[{}, value]])
          : metric(name.endsWith('_total') ? 'counter' : 'gauge', `${component}_${name}`, help, [[{}, value()]]),
      ),
    ),
  ]
}

/** Returns a metric in the form of prom-client's `getMetricsAsJSON`. */
function metric(type: string, suffix: string, help: string, read: readonly (readonly [Labels, Histogram | number])[]) {
  const name = `waymark_${suffix}`
  const values = read.flatMap(([labels, value]) => toValues(name, labels, value))
  return { name, help, type, values, aggregator: 'first' }
}

function toValues(name: string, labels: Labels, value: Histogram | number): MetricValueWithName<string>[] {
  if (typeof value === 'number') return [{ metricName: name, labels, value }]
  const counts = value.cumulative()
  return [
    ...counts.map((count, index) => ({
      metricName: `${name}_bucket`,
      labels: { ...labels, le: value.bounds[index] ?? '+Inf' },
      value: count,
    })),
    { metricName: `${name}_sum`, labels, value: value.sum },
    { metricName: `${name}_count`, labels, value: counts.at(-1) as number },
  ]
}
