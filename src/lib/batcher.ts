import { setImmediate as nextTick } from 'node:timers/promises'

/** Returns the result of each item of a key, which may still be pending. */
type RunBatch<Item, Result> = (items: readonly Item[], key: string) => Promise<readonly (Result | Promise<Result>)[]>

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result | Promise<Result>) => void
  readonly reject: (error: unknown) => void
}

/** Runs items that wait at the same time as one batch, because a batch costs little more than an item. */
export class Batcher<Item, Result> {
  readonly #run: RunBatch<Item, Result>
  readonly #maxSize: number
  /** The waiting items, for each key with items that wait or run. */
  readonly #queues = new Map<string, Waiting<Item, Result>[]>()

  /** If `run` throws, the items that wait fail with it too, so that none waits for several failures. */
  constructor(run: RunBatch<Item, Result>, maxSize: number) {
    this.#run = run
    this.#maxSize = maxSize
  }

  /** Runs an item together with other items of its key, after the running ones. Returns its result. Throws what `run` throws. */
  add(key: string, item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const waiting = { item, resolve, reject }
      const queue = this.#queues.get(key)
      if (queue !== undefined) queue.push(waiting)
      else void this.#runAll(key, [waiting])
    })
  }

  async #runAll(key: string, queue: Waiting<Item, Result>[]): Promise<void> {
    this.#queues.set(key, queue)
    while (queue.length > 0) {
      await this.#gather(queue)
      const batch = queue.splice(0, this.#maxSize)
      try {
        const results = await this.#run(
          batch.map(({ item }) => item),
          key,
        )
        for (const [at, { resolve }] of batch.entries()) resolve(results[at] as Result)
      } catch (error) {
        for (const { reject } of [...batch, ...queue.splice(0)]) reject(error)
      }
    }
    this.#queues.delete(key)
  }

  /** Resolves after the first event-loop tick without new items, or when the batch is full. */
  async #gather(queue: readonly unknown[]): Promise<void> {
    let before: number
    do {
      before = queue.length
      await nextTick()
    } while (before < queue.length && queue.length < this.#maxSize)
  }
}
