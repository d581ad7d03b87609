import { type MessagePort, parentPort, type ResourceLimits, Worker } from 'node:worker_threads'
import { databaseUnavailable, Failure } from '../errors.ts'
import { Refusal, type Violation } from '../violations.ts'

/** A message to the worker. Null asks it to finish its work and to exit. */
type ToWorker<Request> = { readonly id: number; readonly request: Request } | null

type FromWorker<Response, Notice> =
  | { readonly id: number; readonly response: Response }
  | { readonly id: number; readonly error: SentError }
  | { readonly notice: Notice }

/** An error as threads send it. A clone of a failure or an `AggregateError` would lack its own fields. */
export type SentError =
  | {
      readonly failure: Pick<Failure, 'code' | 'message' | 'facts'>
      readonly violations: readonly SentViolation[] | undefined
    }
  | { readonly errors: readonly SentError[]; readonly message: string }
  | { readonly error: unknown }

/** A clone of a refusal would lack its methods. */
type SentViolation = Omit<Violation, 'refusal'> & Pick<Refusal, 'key' | 'params'>

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

/** Returns the error that another thread has sent. */
export function fromSent(sent: SentError): unknown {
  if ('failure' in sent) {
    const { code, message, facts } = sent.failure
    const violations = sent.violations?.map(({ key, params, ...violation }) => ({
      ...violation,
      refusal: new Refusal(key, params as never),
    }))
    return new Failure(code, message, violations === undefined ? facts : { ...facts, violations })
  }
  return 'errors' in sent ? new AggregateError(sent.errors.map(fromSent), sent.message) : sent.error
}

/** Returns an error as threads can send it. */
export function toSent(error: unknown): SentError {
  if (error instanceof Failure) {
    const { violations: all, ...facts } = error.facts
    const violations = all?.map(({ refusal: { key, params }, ...violation }) => ({ ...violation, key, params }))
    return { failure: { code: error.code, message: error.message, facts }, violations }
  }
  if (!(error instanceof AggregateError)) return { error }
  return { errors: error.errors.map(toSent), message: error.message }
}

interface WorkerHandlers<Request, Response> {
  /** Returns the response to a request. Requests run at the same time. */
  readonly handle: (request: Request) => Response | Promise<Response>
  /** Releases what would keep the thread alive. Called once all requests before `WorkerClient.close` have responses. */
  readonly close: () => unknown
}

/** Serves the requests of a `WorkerClient`, in the worker thread. */
export function serveRequests<Request, Response>({ handle, close }: WorkerHandlers<Request, Response>): void {
  const port = parentPort as MessagePort
  const running = new Set<Promise<void>>()
  const respond = async (id: number, request: Request) => {
    try {
      port.postMessage({ id, response: await handle(request) })
    } catch (error) {
      port.postMessage({ id, error: toSent(error) })
    }
  }
  const end = async () => {
    await Promise.all(running)
    await close()
    port.close()
  }
  port.on('message', (message: ToWorker<Request>) => {
    if (message === null) return void end()
    const response = respond(message.id, message.request).finally(() => running.delete(response))
    running.add(response)
  })
}

/** Sends a message to `onNotice`, in the worker thread. */
export function sendNotice<Notice>(notice: Notice): void {
  parentPort?.postMessage({ notice })
}
