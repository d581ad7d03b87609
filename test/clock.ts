import type { TestContext } from 'node:test'

/**
 * Stops the clock of this process until the test ends, so that no window of a rate limit ends in between. Returns a function
 * that advances it by milliseconds, for leases and retention. Timers keep running.
 */
export function stopClock({ mock }: Pick<TestContext, 'mock'>): (ms: number) => void {
  mock.timers.enable({ apis: ['Date'], now: Date.now() })
  return (ms) => mock.timers.setTime(Date.now() + ms)
}

/** Stops `performance.now()` of this process until the test ends. Returns a function that advances it by milliseconds. */
export function stopMonotonicClock({ mock }: Pick<TestContext, 'mock'>): (ms: number) => void {
  // Whole milliseconds add up without rounding errors.
  let now = Math.ceil(performance.now())
  mock.method(performance, 'now', () => now)
  return (ms) => {
    now += ms
  }
}
