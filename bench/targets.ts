/**
 * What the figures have to reach. Each target is a bound on one figure; a figure that was not measured has no verdict.
 */

/** The least share of the raw server's speed, by case: in requests a second and in processor time per request. */
export const leastRatio: Readonly<Record<string, number>> = {
  show: 0.5,
  list: 0.28,
  'unknown-key': 0.75,
  'mistyped-key': 0.75,
  'bad-query': 0.55,
  'bad-form': 0.55,
  store: 0.3,
  update: 0.24,
  delete: 0.24,
}

/** The same on PostgreSQL, in requests a second alone: its own processes do most of the work. */
export const leastRatioOnPostgres: Readonly<Record<string, number>> = { show: 0.16, list: 0.09, store: 0.08 }

/** How much slower a case may be with the most records than with the fewest. */
export const mostGrowth: Readonly<Record<string, number>> = {
  show: 1.5,
  list: 1.5,
  'search-rare': 1.5,
  'search-dense': 1.5,
}

export const mostRssMb = 200
export const mostStartMs = 500
/** How long short searches may hold the event loop. */
export const mostHoldMs = 20
