/** An HTTP client that changes neither requests nor responses. */
import assert from 'node:assert/strict'
import { type Agent, type IncomingHttpHeaders, type IncomingMessage, request as open } from 'node:http'

/** Any JSON. Tests read responses without declaring their types. */
export type Json = ReturnType<typeof JSON.parse>

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The parsed text; undefined if it is empty or malformed. */
  readonly body: Json
}

export interface Request {
  /** Null sends no Authorization header. */
  readonly key?: string | null
  /** Sent as `application/x-www-form-urlencoded`. Text is sent unchanged. */
  readonly form?: Readonly<Record<string, string | number>> | readonly (readonly [string, string])[] | string
  /** Sent as `application/json`. */
  readonly json?: unknown
  /** Sent unchanged, without a content type. */
  readonly body?: string | Buffer
  readonly headers?: Readonly<Record<string, string | string[]>>
  /** Returns 503 `overloaded` to the test instead of trying again. */
  readonly seesOverload?: boolean
}

interface Target {
  readonly agent: Agent | undefined
  readonly port: number
  readonly method: string
  readonly path: string
}

export function sendRequest({ agent, port, method, path }: Target, request: Request): Promise<Answer> {
  const body = bodyOf(request)
  const headers: Record<string, string | string[]> = {
    host: `localhost:${port}`,
    ...(request.key === null ? {} : { authorization: `Bearer ${request.key}` }),
    ...(request.form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
    ...(request.json === undefined ? {} : { 'content-type': 'application/json' }),
    ...request.headers,
  }
  const isChunked = 'transfer-encoding' in headers
  if (body !== undefined && !isChunked && !('content-length' in headers)) {
    headers['content-length'] = String(Buffer.byteLength(body))
  }
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method, path, headers, ...(agent && { agent }) }
    const outgoing = open(options, (response) => read(response).then(resolve, reject))
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

/** Sends a request, and repeats it while the server is overloaded, because a busy machine makes any server shed load. */
export async function repeatWhileOverloaded(send: () => Promise<Answer>, method = 'GET'): Promise<Answer> {
  for (;;) {
    const answer = await send()
    if (!isOverloaded(answer, method)) return answer
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** Returns whether the server rejected a request because it was overloaded. Any 503 without a text counts. */
export function isOverloaded({ status, text, body }: Answer, method = 'GET'): boolean {
  if (status !== 503) return false
  return method === 'HEAD' || body?.code === 'overloaded' || text.includes('server is overloaded')
}

/** Builds a response from its parts. */
export function answerOf(status: number, headers: IncomingHttpHeaders, text: string): Answer {
  return { status, headers, text, body: text === '' ? undefined : parsed(text) }
}

function bodyOf({ form, json, body }: Request): string | Buffer | undefined {
  if (json !== undefined) return JSON.stringify(json)
  if (form === undefined) return body
  if (typeof form === 'string') return form
  const pairs = Array.isArray(form) ? form : Object.entries(form).map(([name, value]) => [name, String(value)])
  return new URLSearchParams(pairs as [string, string][]).toString()
}

async function read(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  return answerOf(response.statusCode ?? 0, response.headers, Buffer.concat(chunks).toString('utf8'))
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Throws unless the response is a problem with this status and code. */
export function assertProblem({ status, body, text }: Answer, expected: number, code: string): void {
  assert.deepEqual([status, body.code], [expected, code], text)
}

/** Returns the field and the code of each violation, in order. */
export function violationsOf({ body }: Answer): [field: string, code: string][] {
  return body.violations.map(({ field, code }: Json) => [field, code])
}
