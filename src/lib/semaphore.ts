export interface SemaphoreOptions {
  /** The number of tasks that run at the same time, in total and for each key. */
  readonly concurrency: number
  readonly concurrencyPerKey?: number
  /** The number of waiting tasks, in total and for each key. Default: unlimited. */
  readonly maxQueue?: number
  readonly maxQueuePerKey?: number
  /** How long a task may wait. Milliseconds. Default: unlimited. */
  readonly maxWaitMs?: number
  /** Creates the error for a task that finds the queue full or waits too long. `isOfKey`: whether the limit of its key is the reason. */
  readonly rejection: (isOfKey: boolean) => Error
}

interface Group {
  running: number
  /** The starts of the waiting tasks. */
  readonly waiters: Set<() => void>
}

const unlimited = Number.POSITIVE_INFINITY

/** Limits how many tasks run at the same time. Waiting tasks of one key start in order, and the keys alternate. */
export class Semaphore {
  readonly #options: SemaphoreOptions
  /** The keys with running or waiting tasks, ordered by the start of their last task. */
  readonly #groups = new Map<string, Group>()
  #running = 0
  #waiting = 0

  constructor(options: SemaphoreOptions) {
    this.#options = options
  }

  /** Runs the task as soon as the limits allow, and returns its result. Throws `rejection()`. */
  async run<T>(task: () => Promise<T>, key = ''): Promise<T> {
    const group = this.#groups.get(key) ?? { running: 0, waiters: new Set() }
    const { concurrency, concurrencyPerKey = unlimited } = this.#options
    if (this.#running < concurrency && group.running < concurrencyPerKey) this.#start(key, group)
    else await this.#wait(key, group)
    try {
      return await task()
    } finally {
      this.#running -= 1
      group.running -= 1
      // The next task starts in this tick, so that new tasks cannot overtake it.
      this.#startNext()
      this.#deleteIfEmpty(key, group)
    }
  }

  /** Moves the key behind the others. */
  #start(key: string, group: Group): void {
    this.#groups.delete(key)
    this.#groups.set(key, group)
    this.#running += 1
    group.running += 1
  }

  #wait(key: string, group: Group): Promise<void> {
    const { maxQueue = unlimited, maxQueuePerKey = unlimited, maxWaitMs, rejection } = this.#options
    const { concurrencyPerKey = unlimited } = this.#options
    const rejected = () => rejection(group.running >= concurrencyPerKey)
    if (this.#waiting >= maxQueue || group.waiters.size >= maxQueuePerKey) throw rejected()
    this.#groups.set(key, group)
    this.#waiting += 1
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer)
        this.#waiting -= 1
        group.waiters.delete(start)
      }
      const start = () => {
        leave()
        this.#start(key, group)
        resolve()
      }
      const expire = () => {
        leave()
        this.#deleteIfEmpty(key, group)
        reject(rejected())
      }
      const timer = maxWaitMs === undefined ? undefined : setTimeout(expire, maxWaitMs)
      group.waiters.add(start)
    })
  }

  #startNext(): void {
    if (this.#waiting === 0) return
    const { concurrencyPerKey = unlimited } = this.#options
    for (const group of this.#groups.values()) {
      const [start] = group.running < concurrencyPerKey ? group.waiters : []
      if (start === undefined) continue
      start()
      return
    }
  }

  #deleteIfEmpty(key: string, group: Group): void {
    if (group.running === 0 && group.waiters.size === 0) this.#groups.delete(key)
  }
}
