import { setImmediate as nextTick } from 'node:timers/promises'

/** Lets other work run from time to time, so that no event-loop tick is long. */
export class Ticks {
  #since = performance.now()

  /** Continues in the next tick if this one has taken too long. */
  async next(): Promise<void> {
    if (performance.now() - this.#since < maxTickMs) return
    await nextTick()
    this.#since = performance.now()
  }
}

/** Far below 20 ms, because other work of the tick comes on top. */
const maxTickMs = 5
