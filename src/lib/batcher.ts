import { affectsOthers } from '../errors.ts'
import { gather, requireRoom } from './queue.ts'

/** Returns the result of each item of a key, which may still be pending. */
type RunBatch<Key, Item, Result> = (items: readonly Item[], key: Key) => Promise<readonly (Result | Promise<Result>)[]>

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result | Promise<Result>) => void
  readonly reject: (error: unknown) => void
}

/** Items of a batch. More would block the event loop for too long. */
const maxBatchSize = 32

/** Runs items that wait at the same time as one batch, because a batch costs little more than an item. */
export class Batcher<Key, Item, Result> {
  readonly #run: RunBatch<Key, Item, Result>
  readonly #maxSize: number
  /** The waiting items, for each key with items that wait or run. */
  readonly #queues = new Map<Key, Waiting<Item, Result>[]>()
  #length = 0

  /** If `run` throws an error that affects others, the items that wait fail with it too, so that none waits for several failures. */
  constructor(run: RunBatch<Key, Item, Result>, maxSize = maxBatchSize) {
    this.#run = run
    this.#maxSize = maxSize
  }

  /** The items of all keys that wait. */
  get length(): number {
    return this.#length
  }

  /**
   * Runs an item together with other items of its key, after the running ones. Returns its result. Throws what `run` throws, and
   * `overloaded` if too many items wait.
   */
  add(key: Key, item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      requireRoom(this.#length)
      this.#length += 1
      const waiting = { item, resolve, reject }
      const queue = this.#queues.get(key)
      if (queue !== undefined) queue.push(waiting)
      else void this.#runAll(key, [waiting])
    })
  }

  async #runAll(key: Key, queue: Waiting<Item, Result>[]): Promise<void> {
    this.#queues.set(key, queue)
    while (queue.length > 0) {
      await gather(queue, this.#maxSize)
      const batch = this.#take(queue, this.#maxSize)
      try {
        const results = await this.#run(
          batch.map(({ item }) => item),
          key,
        )
        for (const [at, { resolve }] of batch.entries()) resolve(results[at] as Result)
      } catch (error) {
        const others = affectsOthers(error) ? this.#take(queue, queue.length) : []
        for (const { reject } of [...batch, ...others]) reject(error)
      }
    }
    this.#queues.delete(key)
  }

  #take(queue: Waiting<Item, Result>[], count: number): Waiting<Item, Result>[] {
    const taken = queue.splice(0, count)
    this.#length -= taken.length
    return taken
  }
}
