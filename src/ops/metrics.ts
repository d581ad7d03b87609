import type { Metric, MetricValueWithName, Registry } from 'prom-client'
import type { ErrorCode } from '../errors.ts'
import { Histogram } from '../histogram.ts'
import { failures } from '../http/failures.ts'
import type { RequestCounts } from '../http/request-metrics.ts'
import type { Meter, Storage } from '../storage/port.ts'
import { version } from '../version.ts'
import type { Report } from './report.ts'

export interface Measured {
  readonly counts: RequestCounts
  readonly loopDelays: Histogram
  readonly storage: Pick<Storage, 'meters'>
}

type Labels = Readonly<Record<string, string | number>>

/** One metric: its type for Prometheus, and what it is at this moment. */
interface Reading {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  read(): Iterable<readonly [Labels, Histogram | number]>
}

/**
 * The metrics in the text format of Prometheus. Requests and database work are counted from the start, and read here only
 * when somebody asks; what Node knows of the process is watched from the first question on, so that nobody pays for
 * metrics that nobody reads.
 */
export function metricsOf(measured: Measured): () => Promise<Report> {
  let registry: Promise<Registry> | undefined
  return async () => {
    registry ??= registryOf(measured)
    const known = await registry
    return { contentType: known.contentType, body: await known.metrics() }
  }
}

async function registryOf(measured: Measured): Promise<Registry> {
  const { Registry, collectDefaultMetrics } = await import('prom-client')
  const registry = new Registry()
  for (const reading of readingsOf(measured)) registry.registerMetric(new Collected(reading) as unknown as Metric)
  collectDefaultMetrics({ register: registry })
  // They begin anew with each scrape, and lose the first delay after it; see `waymark_event_loop_delay_seconds`.
  for (const { name } of registry.getMetricsAsArray()) {
    if (name.startsWith('nodejs_eventloop_lag')) registry.removeSingleMetric(name)
  }
  return registry
}

const codes = Object.keys(failures) as ErrorCode[]

function readingsOf({ counts, loopDelays, storage }: Measured): Reading[] {
  return [
    {
      name: 'waymark_build_info',
      help: 'The version that runs; always 1.',
      type: 'gauge',
      read: () => [[{ version, node: process.version }, 1]],
    },
    {
      name: 'waymark_http_request_duration_seconds',
      help: 'Requests by route, method and status, from their arrival to the last byte of the answer.',
      type: 'histogram',
      read: () => Iterator.from(counts.series()).map(({ tally, ...labels }) => [labels, tally] as const),
    },
    {
      name: 'waymark_http_requests_under_way',
      help: 'Requests that have no answer yet.',
      type: 'gauge',
      read: () => [[{}, counts.underWay]],
    },
    {
      name: 'waymark_http_failures_total',
      help: 'Answers of failure by their code, those to what never became a request included.',
      type: 'counter',
      read: () => codes.map((code) => [{ code }, counts.failures(code)] as const),
    },
    {
      name: 'waymark_event_loop_delay_seconds',
      help: 'How late the event loop ran, looked at every 20 ms.',
      type: 'histogram',
      read: () => [[{}, loopDelays]],
    },
    ...storage.meters.map(ofDatabase),
  ]
}

function ofDatabase({ name, help, value }: Meter): Reading {
  return {
    name: `waymark_database_${name}`,
    help,
    type: value instanceof Histogram ? 'histogram' : 'gauge',
    read: () => [[{}, value instanceof Histogram ? value : value()]],
  }
}

/** What a registry asks of a metric, without the counting: that has been done. */
class Collected {
  readonly name: string
  readonly #reading: Reading

  constructor(reading: Reading) {
    this.name = reading.name
    this.#reading = reading
  }

  async get() {
    const { name, help, type, read } = this.#reading
    const values = [...read()].flatMap(([labels, value]) => valuesOf(name, labels, value))
    return { name, help, type, values }
  }
}

function valuesOf(name: string, labels: Labels, value: Histogram | number): MetricValueWithName<string>[] {
  if (typeof value === 'number') return [{ metricName: name, labels, value }]
  const cumulated = value.cumulated()
  const buckets = cumulated.map((count, index) => ({
    metricName: `${name}_bucket`,
    labels: { ...labels, le: value.bounds[index] ?? '+Inf' },
    value: count,
  }))
  const count = cumulated.at(-1) as number
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: value.sum },
    { metricName: `${name}_count`, labels, value: count },
  ]
}
