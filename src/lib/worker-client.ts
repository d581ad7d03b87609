import { type ResourceLimits, Worker } from 'node:worker_threads'
import { databaseUnavailable } from '../errors.ts'
import { type FromWorker, fromSent, type ToWorker } from './worker-server.ts'

interface WorkerClientOptions<Notice> {
  /** The module of the worker, which calls `serveRequests`. */
  readonly module: URL
  readonly workerData: unknown
  readonly resourceLimits: ResourceLimits
  /** How long `close` waits for the worker before it terminates it. Milliseconds. */
  readonly closeMs: number
  readonly onNotice: (notice: Notice) => void
}

/** A dead worker is restarted no sooner than this after its start. Milliseconds. */
const restartMs = 1_000

/** A worker thread, started by the first request. If it dies, pending requests fail, and the next one restarts it. */
export class WorkerClient<Request, Response, Notice> {
  readonly #options: WorkerClientOptions<Notice>
  readonly #pending = new Map<number, PromiseWithResolvers<Response>>()
  #worker: Worker | undefined
  #startedAt = Number.NEGATIVE_INFINITY
  #lastId = 0
  #closed: Promise<void> | undefined

  constructor(options: WorkerClientOptions<Notice>) {
    this.#options = options
  }

  get pending(): number {
    return this.#pending.size
  }

  get isRunning(): boolean {
    return this.#worker !== undefined
  }

  /** Starts the worker if it does not run. Throws `database_unavailable` after `close`, and if the last worker died early. */
  start(): Worker {
    if (this.#closed !== undefined) throw databaseUnavailable(new Error('The worker thread is closed.'))
    if (this.#worker !== undefined) return this.#worker
    const now = performance.now()
    if (now - this.#startedAt < restartMs) throw databaseUnavailable(new Error('The worker thread has died.'))
    this.#startedAt = now
    this.#worker = this.#spawn()
    return this.#worker
  }

  /** Rejects with the worker's error, or with `database_unavailable` if the worker does not start or dies. */
  async request(request: Request): Promise<Response> {
    const worker = this.start()
    const id = ++this.#lastId
    // Throws if the request cannot be cloned.
    worker.postMessage({ id, request } satisfies ToWorker<Request>)
    const pending = Promise.withResolvers<Response>()
    this.#pending.set(id, pending)
    return pending.promise
  }

  /** Lets the worker finish its requests and exit. Terminates it after `closeMs`. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const worker = this.#worker
    if (worker === undefined) return
    const exited = new Promise((resolve) => worker.once('exit', resolve))
    worker.postMessage(null satisfies ToWorker<Request>)
    const deadline = setTimeout(() => void worker.terminate(), this.#options.closeMs)
    await exited
    clearTimeout(deadline)
  }

  #spawn(): Worker {
    const { module, workerData, resourceLimits } = this.#options
    const worker = new Worker(module, { workerData, resourceLimits })
    let cause: unknown = new Error('The worker thread ended.')
    worker.on('message', (message: FromWorker<Response, Notice>) => this.#receive(message))
    worker.on('error', (error) => {
      cause = error
    })
    worker.on('exit', () => {
      this.#worker = undefined
      for (const id of this.#pending.keys()) this.#take(id)?.reject(databaseUnavailable(cause))
    })
    return worker
  }

  /** Ignores messages of unknown kinds: `node --watch` sends its own. */
  #receive(message: FromWorker<Response, Notice>): void {
    if ('notice' in message) this.#options.onNotice(message.notice)
    else if ('response' in message) this.#take(message.id)?.resolve(message.response)
    else if ('error' in message) this.#take(message.id)?.reject(fromSent(message.error))
  }

  #take(id: number): PromiseWithResolvers<Response> | undefined {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    return pending
  }
}
