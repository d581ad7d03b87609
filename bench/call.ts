import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Answer } from './raw-server.ts'

/** A request to Waymark. */
export interface Call {
  readonly method: string
  readonly path: string
  readonly host: string
  /** Complete header lines. */
  readonly head: string
  /** The body, URL-encoded or a JSON object; empty for none. */
  readonly form: string
}

/** Returns the host and headers for an API call. */
export function withKey(secret: string): Pick<Call, 'host' | 'head'> {
  return { host: '127.0.0.1', head: `Authorization: Bearer ${secret}\r\n` }
}

/** Encodes a request. Its text is ASCII. */
export function onTheWire({ method, path, host, head, form }: Call): Buffer {
  const body = form === '' ? '\r\n' : `${contentType(form)}Content-Length: ${form.length}\r\n\r\n${form}`
  const first = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: keep-alive\r\n`
  return Buffer.from(`${first}${head}${body}`, 'latin1')
}

function contentType(form: string): string {
  return `Content-Type: application/${form.startsWith('{') ? 'json' : 'x-www-form-urlencoded'}\r\n`
}

/** Sends one request. Returns the response without the headers that Node adds. */
export async function call(port: number, { method, path, host, head, form }: Call): Promise<Answer> {
  const headers: Record<string, string | number> = { host, connection: 'keep-alive' }
  for (const line of `${head}${form === '' ? '' : contentType(form)}`.split('\r\n').slice(0, -1)) {
    const [name, value] = line.split(': ', 2) as [string, string]
    headers[name] = value
  }
  if (form !== '') headers['content-length'] = form.length
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ host: '127.0.0.1', port, method, path, headers, agent: false }, resolve).on('error', reject).end(form)
  })
  return { status: response.statusCode as number, headers: ownHeaders(response), body: await text(response) }
}

const headersOfNode = new Set(['date', 'connection', 'keep-alive'])

function ownHeaders({ rawHeaders }: IncomingMessage): string[] {
  const own: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name, value] = rawHeaders.slice(at, at + 2) as [string, string]
    if (!headersOfNode.has(name.toLowerCase())) own.push(name, value)
  }
  return own
}

/** Signs in to the dashboard with a key. Returns the cookie. */
export async function signedIn(origin: string, key: string): Promise<string> {
  const body = new URLSearchParams({ api_key: key })
  const answer = await fetch(`${origin}/app/sign-in`, { method: 'POST', body, headers: { origin }, redirect: 'manual' })
  const [cookie = ''] = answer.headers.getSetCookie()
  if (answer.status !== 303 || cookie === '') throw new Error(`Signing in is answered with ${answer.status}.`)
  return cookie.replace(/;.*/, '')
}
