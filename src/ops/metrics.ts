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
  /** Counts of visits by kind of response. */
  readonly visits: { entries(): Iterable<readonly [string, number]> }
  /** Meters by component. */
  readonly meters: Readonly<Record<string, readonly Meter[]>>
}

type Labels = Readonly<Record<string, string | number>>

/** One metric, and how to read its present values. */
interface Reading {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  read(): Iterable<readonly [Labels, Histogram | number]>
}

/**
 * The metrics in Prometheus' text format. Requests and database work are counted from the start. prom-client is loaded by
 * the first scrape, and watches the process from then on: without a scrape it costs nothing.
 */
export function metricsOf(measured: MeasuredServices) {
  const readings = readingsOf(measured)
  let ofNode: Promise<Registry> | undefined
  return async () => {
    ofNode ??= nodeMetrics()
    const { AggregatorRegistry } = await import('prom-client')
    const ours = AggregatorRegistry.aggregate([readings.map(asJson)])
    const known = await ofNode
    return { contentType: known.contentType, body: `${await ours.metrics()}\n${await known.metrics()}` }
  }
}

async function nodeMetrics(): Promise<Registry> {
  const { Registry, collectDefaultMetrics } = await import('prom-client')
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  // They start over with each scrape and lose the first delay after it; see `waymark_event_loop_delay_seconds`.
  for (const { name } of registry.getMetricsAsArray()) {
    if (name.startsWith('nodejs_eventloop_lag')) registry.removeSingleMetric(name)
  }
  return registry
}

const codes = Object.keys(failures) as ErrorCode[]

function readingsOf({ counts, loopDelays, visits, meters }: MeasuredServices): Reading[] {
  return [
    {
      name: 'waymark_build_info',
      help: 'The running version; always 1.',
      type: 'gauge',
      read: () => [[{ version, node: process.version }, 1]],
    },
    {
      name: 'waymark_http_request_duration_seconds',
      help: 'Requests by route, method and status, from their arrival to the last byte of the answer.',
      type: 'histogram',
      read: () => Iterator.from(counts.series()).map(({ durations, ...labels }) => [labels, durations] as const),
    },
    {
      name: 'waymark_http_requests_under_way',
      help: 'Requests that have no answer yet.',
      type: 'gauge',
      read: () => [[{}, counts.underWay]],
    },
    {
      name: 'waymark_http_failures_total',
      help: 'Failures answered, by code, including those to what never became a request.',
      type: 'counter',
      read: () => codes.map((code) => [{ code }, counts.failures(code)] as const),
    },
    {
      name: 'waymark_event_loop_delay_seconds',
      help: 'How late the event loop ran, sampled every 20 ms.',
      type: 'histogram',
      read: () => [[{}, loopDelays]],
    },
    {
      name: 'waymark_visits_total',
      help: 'Visits by how they were answered.',
      type: 'counter',
      read: () => Iterator.from(visits.entries()).map(([answer, count]) => [{ answer }, count] as const),
    },
    ...Object.entries(meters).flatMap(([component, meters]) =>
      meters.map(({ name, help, value }): Reading => {
        const metric = { name: `waymark_${component}_${name}`, help }
        return value instanceof Histogram
          ? { ...metric, type: 'histogram', read: () => [[{}, value]] }
          : { ...metric, type: 'gauge', read: () => [[{}, value()]] }
      }),
    ),
  ]
}

/** Returns the metric in the form of prom-client's `getMetricsAsJSON`. */
function asJson({ name, help, type, read }: Reading): object {
  const values = Array.from(read()).flatMap(([labels, value]) => valuesOf(name, labels, value))
  return { name, help, type, values, aggregator: 'first' }
}

function valuesOf(name: string, labels: Labels, value: Histogram | number): MetricValueWithName<string>[] {
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
