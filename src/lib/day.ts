const dayMs = 86_400_000

/** Returns the day of a text such as `2026-11-22`, in days since 1970-01-01; undefined for an invalid date or one before. */
export function dayFrom(text: string): number | undefined {
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) / dayMs : Number.NaN
  return day >= 0 && new Date(day * dayMs).toISOString().startsWith(text) ? day : undefined
}
