/** Days as people write them, and their numbers since 1970-01-01 in UTC. Pure. */

const dayMs = 86_400_000

/** The day as `YYYY-MM-DD`. */
export function dayText(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10)
}

/** The number of the day that a text such as `2026-11-22` names; undefined if it names none. */
export function dayFrom(text: string): number | undefined {
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) / dayMs : Number.NaN
  return day >= 0 && dayText(day) === text ? day : undefined
}
