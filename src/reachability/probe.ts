import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'

/** What an instance's fingerprint meets with at an address. */
export type Answer = 'here' | 'elsewhere' | 'no answer' | 'certificate error'

export interface ProbeOptions {
  /** Milliseconds for all of it. */
  readonly timeoutMs: number
  /** The only port that a redirect to HTTPS may lead to: any other would let the owner of a name have ports tried. */
  readonly httpsPort: number
  /** Finds the addresses of a host; the system's way if left out. */
  readonly lookup?: LookupFunction
}

/** A fingerprint is much shorter. Bytes. */
const maxBody = 1_024
/** Interim answers, such as 103 (Early Hints), before the one that counts. */
const maxInterim = 8

/**
 * Asks for the URL and tells whether it answers with the fingerprint; and nothing else of what came back. A redirect is
 * followed once, from HTTP to the same host and path over HTTPS. Never rejects.
 */
export async function probe(url: string, fingerprint: string, options: ProbeOptions): Promise<Answer> {
  const signal = AbortSignal.timeout(options.timeoutMs)
  try {
    const response = await get(url, signal, options)
    const secureUrl = secureVersionOf(url, response, options.httpsPort)
    if (secureUrl === null) return await judge(response, fingerprint)
    response.destroy()
    return await judge(await get(secureUrl, signal, options), fingerprint)
  } catch (error) {
    return isTlsError(error) ? 'certificate error' : 'no answer'
  }
}

/** Not with `fetch`, which reads interim answers and extensions of chunks without end. */
async function get(url: string, signal: AbortSignal, { lookup }: ProbeOptions): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  // Compressed, a body could be much longer than what was sent.
  const headers = { 'user-agent': 'Waymark', 'accept-encoding': 'identity' }
  const { get } = url.startsWith('https:') ? https : http
  const request = get(url, { headers, signal, agent: false, lookup }, resolve).on('error', reject)
  let interim = 0
  request.on('information', () => {
    interim += 1
    if (interim > maxInterim) request.destroy(new Error('Too many interim answers'))
  })
  // An answer that takes the connection for another protocol (101) is neither a response nor an error.
  request.on('close', () => reject(new Error('No answer')))
  return promise
}

/** Where a redirect leads, if that is the URL itself over HTTPS; else null. */
function secureVersionOf(url: string, { headers }: IncomingMessage, httpsPort: number): string | null {
  const [from, to] = [new URL(url), URL.parse(headers.location ?? '', url)]
  if (from.protocol !== 'http:' || to?.protocol !== 'https:') return null
  const isSame = from.hostname === to.hostname && from.pathname === to.pathname
  if (!isSame || (to.port === '' ? 443 : Number(to.port)) !== httpsPort) return null
  return `${to.origin}${from.pathname}`
}

async function judge(response: IncomingMessage, fingerprint: string): Promise<Answer> {
  const isHere = response.statusCode === 200 && (await beginningOf(response)).trim() === fingerprint
  response.destroy()
  return isHere ? 'here' : 'elsewhere'
}

/** The first bytes of the body as text; the rest is not read. */
async function beginningOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= maxBody) break
  }
  return Buffer.concat(chunks, Math.min(bytes, maxBody)).toString('latin1')
}

/** OpenSSL's names for what is wrong with a certificate, and Node's for a handshake that fails. */
const tlsCode = /CERT|CRL|SIGNATURE|^(?:ERR_SSL|ERR_TLS)_|^(?:EPROTO|HOSTNAME_MISMATCH|INVALID_(?:CA|PURPOSE))$/

/** Whether a request has failed because of TLS. */
export function isTlsError(error: unknown): boolean {
  return tlsCode.test(String((error as NodeJS.ErrnoException).code))
}
