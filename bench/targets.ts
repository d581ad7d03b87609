/**
 * What `--gate` holds the figures to. Each target is a bound on one figure; a figure that was not measured has no verdict.
 */

/** The minimal share of the raw server's speed, by case: in processor time per request. */
export const minCpuRatio: Readonly<Record<string, number>> = {
  show: 0.5,
  list: 0.25,
  'unknown-key': 0.7,
  'mistyped-key': 0.7,
  'bad-query': 0.55,
  'bad-form': 0.5,
  store: 0.22,
  update: 0.24,
  delete: 0.24,
}

/** In requests per second. */
export const minRatio: Readonly<Record<string, number>> = {
  ...minCpuRatio,
  'link-store': 0.15,
  'link-list': 0.18,
  'visit-memory': 0.8,
  'visit-zipf': 0.6,
  'visit-even': 0.4,
  'visit-unknown-alias': 0.6,
  'visit-unknown-host': 0.8,
}

/** The same on PostgreSQL: its own processes do most of the work. */
export const minRatioOnPostgres: Readonly<Record<string, number>> = {
  show: 0.16,
  list: 0.09,
  store: 0.08,
  'visit-memory': 0.8,
  'visit-even': 0.15,
}

/** How many times slower a case may be with the most records than with the fewest. */
export const maxGrowth: Readonly<Record<string, number>> = {
  show: 1.5,
  list: 1.5,
  'search-rare': 1.5,
  'search-dense': 1.5,
  'visit-memory': 1.1,
}

/** The minimal speed of a case beside that of the one it is compared with: what it may cost to count a click. */
export const minShare: Readonly<Record<string, number>> = { 'visit-memory': 0.9 }

/** How long an answer may take, of 99 in a hundred. */
export const maxP99Ms: Readonly<Record<string, number>> = { 'visit-paced': 5 }

/** By the kind of database. */
export const maxRssMb = { domains: 200, links: 350 } as const
export const maxStartMs: { readonly domains: number; readonly links?: number } = { domains: 500 }
/** How long short searches may hold the event loop. */
export const maxHoldMs = 20
