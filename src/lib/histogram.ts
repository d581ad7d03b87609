/** Counts values in buckets. prom-client's histogram would cost each start 40 ms and 6 MB (ADR 18). */
export class Histogram {
  /** The inclusive upper bounds of the buckets, ascending. A last bucket counts larger values. */
  readonly bounds: readonly number[]
  readonly #counts: Float64Array
  sum = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.#counts = new Float64Array(bounds.length + 1)
  }

  add(value: number): void {
    let bucket = 0
    while (value > (this.bounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1
    this.sum += value
  }

  /** Returns the number of values up to each bound, then the number of all values. */
  cumulative(): number[] {
    let total = 0
    return Array.from(this.#counts, (count) => {
      total += count
      return total
    })
  }
}

/** Bounds for durations from 0.1 ms to 10 s. Seconds. */
export const durations = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
export const groupSizes = [1, 2, 4, 8, 16, 32, 64, 128]
