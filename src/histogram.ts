/**
 * Counts values into buckets: a histogram that costs some nanoseconds a value, and allocates nothing.
 */
export class Histogram {
  /** What the buckets reach up to, inclusive, in ascending order; one more takes whatever is above. */
  readonly bounds: readonly number[]
  /** The values in each bucket alone, then their sum. */
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

  /** Of all values so far. */
  get sum(): number {
    return this.#numbers[this.bounds.length + 1] as number
  }

  /** For each bound the number of values up to it, then the number of all. */
  cumulated(): number[] {
    let total = 0
    return Array.from(this.#numbers.subarray(0, -1), (count) => {
      total += count
      return total
    })
  }
}

/** Bounds for what takes from a tenth of a millisecond to ten seconds. In seconds. */
export const durations = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
/** Bounds for how many were done at once. */
export const groupSizes = [1, 2, 4, 8, 16, 32, 64, 128]
