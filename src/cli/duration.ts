const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A hundred years: no key needs more, and no date overflows. */
const maxMs = 36_500 * 86_400_000

/**
 * The milliseconds that `30s`, `15m`, `24h` or `90d` stand for; undefined when the text is none of that kind, or
 * more than a hundred years.
 */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = ''] = /^(0|[1-9]\d{0,9})([smhd])$/.exec(text) ?? []
  const milliseconds = Number(count) * (unitMs[unit] ?? Number.NaN)
  return milliseconds <= maxMs ? milliseconds : undefined
}
