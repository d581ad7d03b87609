/** Requests old short URLs from the services that still serve them, for the proof of imports. */
import type { IncomingMessage } from 'node:http'
import type { RequestOptions } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { fingerprintPath } from '../instance/store.ts'
import { Semaphore } from '../lib/semaphore.ts'
import { isTlsError } from '../lib/tls-errors.ts'
import { addressesIn, compare, requestOnce } from '../reachability/checks.ts'
import { type DnsOptions, findRecords, isPublicAddress, isPublicName } from '../reachability/dns.ts'
import { version } from '../version.ts'

/** The status and the target of a response to GET. */
export interface Answer {
  readonly status: number
  /** The absolute URL to which it redirects, or the header as it was sent if that is no URL; null without a redirect. */
  readonly location: string | null
}

/** Why there is no answer that can be compared. `points_here`: the host reaches this instance already. */
export type UnreachableReason =
  | 'points_here'
  | 'no_address'
  | 'private_address'
  | 'no_connection'
  | 'certificate'
  | 'timeout'
  | 'invalid_response'

/** The hosts whose requests are sent to another address, which may be private: `PROOF_HOSTS`. */
export type ProofHosts = ReadonlyMap<string, { readonly address: string; readonly port: number }>

interface OldServiceOptions {
  readonly hosts: ProofHosts
  readonly dns?: DnsOptions
  readonly timeoutMs?: number
  readonly connectTimeoutMs?: number
  /** Between the starts of two requests to a host. */
  readonly pauseMs?: number
}

type Options = Required<OldServiceOptions>

const defaults = { dns: { timeoutMs: 5_000, servers: null }, timeoutMs: 10_000, connectTimeoutMs: 5_000, pauseMs: 200 }
/** Old services must not count the proof as people. */
const userAgent = `Waymark/${version} (import proof bot)`
const maxHeaderSize = 32 * 1024
const maxLocation = 16 * 1024
/** After this many requests in a row without an answer, a host gets no more of them. */
const maxFailures = 5

/** The old services of all imports in this process: a host gets one request at a time, at most 5 per second. */
export class OldServices {
  readonly #options: Options
  readonly #turns = new Semaphore({ concurrency: 8, concurrencyPerKey: 1, rejection: () => new Error('No limit') })

  constructor(options: OldServiceOptions) {
    this.#options = { ...defaults, ...options }
  }

  /** Finds the service of a host. `fingerprint` is this instance's. Rejects only if the signal aborts. */
  async find(host: string, fingerprint: string, signal: AbortSignal): Promise<OldService> {
    const request = <T>(work: () => Promise<T>) => this.#turns.run(() => this.#paced(work, signal), host)
    const service = new OldService(host, this.#options, request)
    await service.open(fingerprint, signal)
    return service
  }

  async #paced<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const pause = wait(this.#options.pauseMs, undefined, { signal })
    const [result] = await Promise.allSettled([work(), pause])
    signal.throwIfAborted()
    if (result.status === 'rejected') throw result.reason
    return result.value
  }
}

type InTurn = <T>(work: () => Promise<T>) => Promise<T>

/** The old service of a host, at the addresses that the DNS had when it was found. */
class OldService {
  readonly #host: string
  readonly #options: Options
  readonly #inTurn: InTurn
  #origin = ''
  #connection: RequestOptions = {}
  /** Why the host gets no more requests; null if it does. */
  #failure: UnreachableReason | null = null
  #failures = 0

  constructor(host: string, options: Options, inTurn: InTurn) {
    this.#host = host
    this.#options = options
    this.#inTurn = inTurn
  }

  /** Chooses HTTPS, or HTTP if nothing speaks HTTPS, with a request that also recognizes this instance. */
  async open(fingerprint: string, signal: AbortSignal): Promise<void> {
    const endpoint = this.#options.hosts.get(this.#host)
    const addresses = endpoint === undefined ? await this.#publicAddresses() : [endpoint.address]
    if (typeof addresses === 'string') {
      this.#failure = addresses
      return
    }
    for (const [scheme, port] of originsAt(endpoint?.port)) {
      await this.#connect(`${scheme}://${this.#host}:${port}`, addresses, endpoint !== undefined)
      this.#failure = await this.#recognize(fingerprint, signal)
      if (this.#failure !== 'no_connection') return
    }
  }

  /** Requests a path, percent-encoded and without its first slash. Rejects only if the signal aborts. */
  async get(path: string, signal: AbortSignal): Promise<Answer | UnreachableReason> {
    if (this.#failure !== null) return this.#failure
    try {
      const answer = await this.#inTurn(async () => {
        const response = await this.#request(path, signal)
        // The body could be endless.
        response.destroy()
        return toAnswer(response, `${new URL(this.#origin).protocol}//${this.#host}/${path}`)
      })
      this.#failures = 0
      return answer
    } catch (error) {
      signal.throwIfAborted()
      const reason = explainError(error)
      this.#failures += 1
      if (this.#failures >= maxFailures) this.#failure = reason
      return reason
    }
  }

  async #publicAddresses(): Promise<readonly string[] | UnreachableReason> {
    if (!isPublicName(this.#host)) return 'private_address'
    const addresses = addressesIn(await findRecords(this.#host, this.#options.dns))
    if (addresses.length === 0) return 'no_address'
    return addresses.every(isPublicAddress) ? addresses : 'private_address'
  }

  /** Later requests resume the TLS session of the agent, which checks every address again when it connects. */
  async #connect(origin: string, addresses: readonly string[], isConfigured: boolean): Promise<void> {
    // Its imports of `node:http` would load undici at every start.
    const { useAgent } = await import('request-filtering-agent')
    const found = addresses.map((address) => ({ address, family: isIP(address) }))
    const lookup: LookupFunction = (_, { all }, callback) => {
      if (all) callback(null, found)
      else callback(null, found[0]?.address ?? '', found[0]?.family)
    }
    this.#origin = origin
    this.#connection = {
      agent: useAgent(origin, { allowIPAddressList: isConfigured ? [...addresses] : [] }),
      lookup,
      headers: { host: this.#host, 'user-agent': userAgent, accept: '*/*' },
      timeout: this.#options.connectTimeoutMs,
      maxHeaderSize,
    }
  }

  async #recognize(fingerprint: string, signal: AbortSignal): Promise<UnreachableReason | null> {
    try {
      const asked = () => this.#request(fingerprintPath, signal).then((response) => compare(response, fingerprint))
      return (await this.#inTurn(asked)) === 'here' ? 'points_here' : null
    } catch (error) {
      signal.throwIfAborted()
      return explainError(error)
    }
  }

  #request(path: string, signal: AbortSignal): Promise<IncomingMessage> {
    const either = AbortSignal.any([signal, AbortSignal.timeout(this.#options.timeoutMs)])
    return requestOnce(`${this.#origin}/${path}`, either, this.#connection)
  }
}

/** Returns the schemes and ports to try. A configured port can use either protocol, unless it is 80 or 443. */
function originsAt(port: number | undefined): readonly (readonly [scheme: 'https' | 'http', port: number])[] {
  if (port === 80) return [['http', port]]
  if (port === 443) return [['https', port]]
  const [secure, plain] = port === undefined ? [443, 80] : [port, port]
  return [
    ['https', secure],
    ['http', plain],
  ]
}

/** Returns the answer to the request for a URL, to which a relative location belongs. */
function toAnswer({ statusCode: status = 0, headers }: IncomingMessage, url: string): Answer {
  const { location = null } = headers
  return {
    status,
    location: location === null || status < 300 || status > 399 ? null : absoluteLocation(location, url),
  }
}

function absoluteLocation(sent: string, url: string): string {
  // Node decodes headers as Latin-1, but services send UTF-8.
  const decoded = Buffer.from(sent, 'latin1').toString('utf8')
  const text = decoded.includes('\ufffd') ? sent : decoded
  return (URL.parse(text, url)?.href ?? text).slice(0, maxLocation)
}

/** Error codes if nothing accepts a connection, or nothing speaks TLS for this host. */
const noConnection = /^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|ETIMEDOUT|EPROTO|ERR_SSL_\w+)$/

function explainError(error: unknown): UnreachableReason {
  const { code = '', message } = error as NodeJS.ErrnoException
  if (message.includes('is not allowed')) return 'private_address'
  if (noConnection.test(code) || message.includes('before secure TLS connection')) return 'no_connection'
  if (code === 'ABORT_ERR') return 'timeout'
  return isTlsError(error) ? 'certificate' : 'invalid_response'
}
