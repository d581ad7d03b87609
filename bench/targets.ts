/**
 * What `--gate` holds the figures to. Each target is a bound on one figure; a figure that was not measured has no verdict.
 */

/** The minimal share of the raw server's speed, by case: in requests per second and in processor time per request. */
export const minRatio: Readonly<Record<string, number>> = {
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

/** The same on PostgreSQL, in requests per second alone: its own processes do most of the work. */
export const minRatioOnPostgres: Readonly<Record<string, number>> = { show: 0.16, list: 0.09, store: 0.08 }

/** How many times slower a case may be with the most records than with the fewest. */
export const maxGrowth: Readonly<Record<string, number>> = {
  show: 1.5,
  list: 1.5,
  'search-rare': 1.5,
  'search-dense': 1.5,
}

export const maxRssMb = 200
export const maxStartMs = 500
/** How long short searches may hold the event loop. */
export const maxHoldMs = 20
