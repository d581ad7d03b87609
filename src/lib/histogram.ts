/** Counts values in buckets. prom-client's histogram would cost each start 40 ms and 6 MB (ADR 18). */
export class Histogram {
  /** The inclusive upper bounds of the buckets, ascending. A last bucket counts larger values. */
  readonly bounds: readonly number[]
  /** The number of values in each bucket, then the sum of all values. */
  readonly #numbers: Float64Array

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.#numbers = new Float64Array(bounds.length + 2)
  }

  add(value: number): void {
    const { bounds } = this
    const numbers = this.#numbers
    let bucket = 0
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket += 1
    numbers[bucket] = (numbers[bucket] as number) + 1
    numbers[bounds.length + 1] = this.sum + value
  }

  /** The sum of all values. */
  get sum(): number {
    return this.#numbers[this.bounds.length + 1] as number
  }

  /** Returns the number of values up to each bound, then the number of all values. */
  cumulative(): number[] {
    let total = 0
    return Array.from(this.#numbers.subarray(0, -1), (count) => {
      total += count
      return total
    })
  }
}

/** Bounds for durations from 0.1 ms to 10 s. Seconds. */
export const durations = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
/** Bounds for batch sizes. */
export const groupSizes = [1, 2, 4, 8, 16, 32, 64, 128]
