interface PeriodicOptions {
  /** The pause between the end of a run and the start of the next. Milliseconds. */
  readonly everyMs: number
  /** Handles an error of the task. The next run starts as usual. */
  readonly onError: (error: unknown) => void
}

/** Runs a task at intervals. Runs never overlap, and the timer does not keep the process alive. */
export class Periodic {
  readonly #task: () => unknown
  readonly #options: PeriodicOptions
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined
  /** Set by `runIn` during a run. */
  #nextMs: number | undefined
  #isStarted = false
  #isClosed = false

  constructor(task: () => unknown, options: PeriodicOptions) {
    this.#task = task
    this.#options = options
  }

  get isStarted(): boolean {
    return this.#isStarted
  }

  /** Starts the timer. The first run begins after `firstMs`. */
  start(firstMs = this.#options.everyMs): void {
    this.#isStarted = true
    this.runIn(firstMs)
  }

  /** Moves the next run to `ms` from now, or from the end of the current run. Does nothing before `start`. */
  runIn(ms: number): void {
    if (!this.#isStarted || this.#isClosed) return
    if (this.#running === undefined) this.#schedule(ms)
    else this.#nextMs = ms
  }

  /** Runs the task now, or again after the current run. Resolves at the end of that run. Does nothing after `close`. */
  run(): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    // All calls during one run share the run after it, even between the two runs.
    if (this.#next !== undefined) return this.#next
    if (this.#running === undefined) return this.#begin()
    this.#next = this.#running.then(() => this.#begin())
    return this.#next
  }

  /** Stops the timer. Resolves after the current run, and after a run that a caller of `run` awaits. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await Promise.allSettled([this.#next ?? this.#running])
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.run(), ms).unref()
  }

  #begin(): Promise<void> {
    clearTimeout(this.#timer)
    this.#next = undefined
    this.#nextMs = undefined
    // The task starts in a microtask, so that `#running` is set if it calls `run` or `runIn`.
    const running: Promise<void> = Promise.resolve()
      .then(this.#task)
      .then(() => undefined, this.#options.onError)
      .finally(() => {
        this.#running = undefined
        if (this.#isStarted && !this.#isClosed) this.#schedule(this.#nextMs ?? this.#options.everyMs)
      })
    this.#running = running
    return running
  }
}
