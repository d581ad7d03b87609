import type { TestContext } from 'node:test'

/** Stops the clock of this process until the test ends, so that no window of a rate limit ends in between. */
export function stopClock({ mock }: Pick<TestContext, 'mock'>): void {
  mock.timers.enable({ apis: ['Date'], now: Date.now() })
}
