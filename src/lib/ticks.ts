import { setImmediate as nextTick } from 'node:timers/promises'

/** Lets other work run from time to time, so that no event-loop tick is long. */
export class Ticks {
  #since = performance.now()

  /** Whether this tick has taken too long. Loops over few records ask, because awaiting each would take longer. */
  get isOver(): boolean {
    return performance.now() - this.#since >= maxTickMs
  }

  /** Continues in the next tick if this one has taken too long. */
  async next(): Promise<void> {
    if (!this.isOver) return
    await nextTick()
    this.#since = performance.now()
  }
}

/** Far below 20 ms, because other work of the tick comes on top. */
const maxTickMs = 5
