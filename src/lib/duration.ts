const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
/** A hundred years, so that no date overflows. */
const maxDurationMs = 36_500 * 86_400_000

/** Returns the milliseconds of `30s`, `15m`, `24h` or `90d`; undefined if the text is not a duration or too long. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = ''] = /^(0|[1-9]\d{0,9})([smhd])$/.exec(text) ?? []
  const milliseconds = Number(count) * (unitMs[unit] ?? Number.NaN)
  return milliseconds <= maxDurationMs ? milliseconds : undefined
}
