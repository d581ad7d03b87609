import type { IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'

// As in http/listener.ts: an import would load undici.
const http = process.getBuiltinModule('node:http')
const https = process.getBuiltinModule('node:https')

/** Whether a URL reaches this instance. */
export type ProbeResult = 'here' | 'elsewhere' | 'no answer' | 'certificate error'

export interface ProbeOptions {
  /** Milliseconds for the whole probe. */
  readonly timeoutMs: number
  /** The only port to which redirects are followed, because others would allow port scans. */
  readonly httpsPort: number
  /** Resolves a host; the system's resolver by default. */
  readonly lookup?: LookupFunction
}

/** Bytes to read; a fingerprint is much shorter. */
const maxBody = 1_024
/** Interim responses, such as 103 (Early Hints), before the final response. */
const maxInterim = 8

/** Compares the response of the URL with the fingerprint. Follows one redirect to HTTPS. Never rejects. */
export async function probe(url: string, fingerprint: string, options: ProbeOptions): Promise<ProbeResult> {
  const signal = AbortSignal.timeout(options.timeoutMs)
  try {
    const response = await get(url, signal, options)
    const secureUrl = secureVersionOf(url, response, options.httpsPort)
    if (secureUrl === null) return await compare(response, fingerprint)
    response.destroy()
    return await compare(await get(secureUrl, signal, options), fingerprint)
  } catch (error) {
    return isTlsError(error) ? 'certificate error' : 'no answer'
  }
}

/** Sends a request without `fetch`, which reads interim responses and chunk extensions without limit. */
async function get(url: string, signal: AbortSignal, { lookup }: ProbeOptions): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  // A compressed body could expand to any size.
  const headers = { 'user-agent': 'Waymark', 'accept-encoding': 'identity' }
  const { get } = url.startsWith('https:') ? https : http
  const request = get(url, { headers, signal, agent: false, lookup }, resolve).on('error', reject)
  let interim = 0
  request.on('information', () => {
    interim += 1
    if (interim > maxInterim) request.destroy(new Error('Too many interim responses'))
  })
  // A switch to another protocol (101) only closes the request.
  request.on('close', () => reject(new Error('No response')))
  return promise
}

/** Returns the destination of a redirect to the same URL over HTTPS; otherwise null. */
function secureVersionOf(url: string, { headers }: IncomingMessage, httpsPort: number): string | null {
  const [from, to] = [new URL(url), URL.parse(headers.location ?? '', url)]
  if (from.protocol !== 'http:' || to?.protocol !== 'https:') return null
  const isSame = from.hostname === to.hostname && from.pathname === to.pathname
  if (!isSame || (to.port === '' ? 443 : Number(to.port)) !== httpsPort) return null
  return `${to.origin}${from.pathname}`
}

async function compare(response: IncomingMessage, fingerprint: string): Promise<ProbeResult> {
  const isHere = response.statusCode === 200 && (await startOf(response)).trim() === fingerprint
  response.destroy()
  return isHere ? 'here' : 'elsewhere'
}

async function startOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= maxBody) break
  }
  return Buffer.concat(chunks, Math.min(bytes, maxBody)).toString('latin1')
}

/** Error codes of OpenSSL for certificates, and of Node for failed handshakes. */
const tlsCode = /CERT|CRL|SIGNATURE|^(?:ERR_SSL|ERR_TLS)_|^(?:EPROTO|HOSTNAME_MISMATCH|INVALID_(?:CA|PURPOSE))$/

function isTlsError(error: unknown): boolean {
  return tlsCode.test(String((error as NodeJS.ErrnoException).code))
}
