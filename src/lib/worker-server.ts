/** The side of a worker thread that serves a `WorkerClient`, and the messages between them. */
import { type MessagePort, parentPort, type Transferable } from 'node:worker_threads'
import { Failure } from '../errors.ts'
import { Refusal, type Violation } from '../violations.ts'

/** A message to the worker. Null asks it to finish its work and to exit. */
export type ToWorker<Request> = { readonly id: number; readonly request: Request } | null

/** A message from the worker. */
export type FromWorker<Response, Notice> =
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
  /** Returns the parts of a response that move to the other thread. Others are copied, which blocks both threads. */
  readonly transferred?: (response: Response) => Transferable[]
  /** Releases what would keep the thread alive. Called once all requests before `WorkerClient.close` have responses. */
  readonly close: () => unknown
}

/** Serves the requests of a `WorkerClient`, in the worker thread. */
export function serveRequests<Request, Response>({
  handle,
  transferred = () => [],
  close,
}: WorkerHandlers<Request, Response>): void {
  const port = parentPort as MessagePort
  const running = new Set<Promise<void>>()
  const respond = async (id: number, request: Request) => {
    try {
      const response = await handle(request)
      port.postMessage({ id, response }, transferred(response))
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
