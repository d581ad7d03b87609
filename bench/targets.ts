/**
 * The bounds of `--gate`. Floors are shares of the raw server's speed. They follow from the figures of commit 63460bf in
 * README.md: the same for redirects, 0.75 for the API on SQLite, 0.55 for the API on PostgreSQL. The floors of rejected
 * requests are higher. Figures that were not measured are not judged.
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

/** Maximal latency of 99 % of the requests. */
export const maxP99Ms: Readonly<Record<string, number>> = { 'visit-paced': 5 }

/** Maximal memory and start time, by kind of database. */
export const maxRssMb = { domains: 200, links: 375 } as const
export const maxStartMs: { readonly domains: number; readonly links?: number } = { domains: 500 }

/** Maximal event-loop tick of any case. */
export const maxTickMs = 20

/** Bounds of `clicks.ts`: disk space, and the time of a request for the statistics of one year. */
export const maxBytesPerClick = 150
export const maxStatisticsMs = 50
