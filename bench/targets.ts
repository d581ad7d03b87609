/**
 * The bounds of `--gate`. Speeds and times are relative to the raw server or to another request of the same run, so that they hold
 * on every machine. Memory and disk space are absolute. Figures that were not measured are not judged.
 */

/** Minimal ratio of the raw server's CPU time per request, by case. */
export const minCpuRatio: Readonly<Record<string, number>> = {
  show: 0.23,
  list: 0.21,
  'unknown-key': 0.7,
  'mistyped-key': 0.7,
  'bad-query': 0.55,
  'bad-form': 0.5,
  store: 0.18,
  update: 0.18,
  delete: 0.21,
}

/** Minimal ratio of the raw server's requests per second. */
export const minRatio: Readonly<Record<string, number>> = {
  show: 0.4,
  list: 0.25,
  'unknown-key': 0.7,
  'mistyped-key': 0.7,
  'bad-query': 0.55,
  'bad-form': 0.5,
  store: 0.22,
  update: 0.16,
  delete: 0.23,
  'link-show': 0.23,
  'link-list': 0.14,
  'link-store': 0.09,
  'visit-memory': 0.48,
  'visit-zipf': 0.29,
  'visit-even': 0.25,
  'visit-unknown-alias': 0.5,
  'visit-unknown-host': 0.8,
}

/** The same on PostgreSQL, whose processes do most of the work. */
export const minRatioOnPostgres: Readonly<Record<string, number>> = {
  show: 0.09,
  list: 0.08,
  store: 0.07,
  update: 0.04,
  'visit-memory': 0.47,
  'visit-even': 0.19,
}

/** Maximal slowdown from the fewest to the most records. */
export const maxGrowth: Readonly<Record<string, number>> = {
  show: 1.5,
  list: 1.5,
  'visit-memory': 1.1,
}

/** Minimal speed of a case relative to the case that it is compared with: the cost of counting a click. */
export const minShare: Readonly<Record<string, number>> = { 'visit-memory': 0.6 }

/** Maximal latency of 99 % of the requests, as a multiple of the raw server's. */
export const maxP99Ratio: Readonly<Record<string, number>> = { 'visit-paced': 3 }

/** Maximal memory, by kind of database. */
export const maxRssMb = { domains: 200, links: 375 } as const

/** Maximal time to the first response after a start, as a multiple of the raw server's, by kind of database. */
export const maxStartRatio: Readonly<Record<'domains' | 'links', number>> = { domains: 3.5, links: 5 }

/** Maximal event-loop tick of any case, as a multiple of the CPU time of a raw response: 800 times 10 to 13 µs are 8 to 10 ms. */
export const maxTickResponses = 800

/** Bounds of `clicks.ts`: disk space, and the times as multiples of the time to show a link, which is about a millisecond. */
export const maxBytesPerClick = 150
export const maxStatisticsRatio = 50
export const maxTickRatio = 20
