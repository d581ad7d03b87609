import { createHash } from 'node:crypto'
import { lookup } from 'node:dns'
import type { IncomingMessage } from 'node:http'
import type { RequestOptions } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'
import { overloaded } from '../errors.ts'
import { fingerprintOfInstance, fingerprintPath } from '../instance/store.ts'
import { LruCache } from '../lib/lru-cache.ts'
import { isTlsError } from '../lib/tls-errors.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Storage } from '../storage/port.ts'
import { type DnsOptions, type FoundRecords, findRecords, isPublicAddress, isPublicName } from './dns.ts'

/** Whether a domain reaches this instance. */
export interface Reachability {
  readonly records: FoundRecords
  /**
   * `no DNS`: there is no response, and the name has no address. `private address`: the check was for the public network
   * only, so nothing more is known.
   */
  readonly answer: ProbeResult | 'no DNS' | 'private address'
  readonly files: FileResults
}

/** Where a check may send requests. Only the first account may learn about the inner network. */
type Network = 'any' | 'public'

/** The contents of files on a domain by path, without the first slash. */
export type Files = Readonly<Record<string, string>>

/** Whether files are served over HTTPS as they are stored, by path. */
export type FileResults = Readonly<Record<string, FileResult>>

export interface CheckOptions {
  readonly storage: Pick<Storage, 'changesAfter'>
  readonly shortUrl: ShortUrl
  readonly dns?: DnsOptions
  readonly probe?: ProbeOptions
  readonly concurrency?: number
  readonly interfaces?: typeof networkInterfaces
}

/** Returns whether every machine resolves the name to itself, without the DNS (RFC 6761 §6.3). */
export function isLocalName(name: string): boolean {
  return /(?:^|\.)localhost$/.test(name)
}

interface Check {
  readonly since: number
  readonly result: Promise<Reachability>
}

interface Lookup {
  readonly since: number
  readonly addresses: Promise<readonly string[]>
  found: readonly string[]
}

const defaults = {
  dns: { timeoutMs: 2_000, servers: null },
  probe: { timeoutMs: 3_000, httpsPort: 443 },
  concurrency: 8,
  interfaces: networkInterfaces,
}
/** The cache time of checks. Milliseconds. */
const checkCacheMs = 5_000
const maxChecks = 1_000
/** The cache time of addresses. Milliseconds. */
const addressCacheMs = 60_000
const maxHosts = 100

/** Checks whether domains reach this instance. Concurrent requests share a check. */
export class DomainChecks {
  readonly #options: Required<CheckOptions>
  readonly #checks = new LruCache<string, Check>(maxChecks)
  readonly #lookups = new LruCache<string, Lookup>(maxHosts)
  /** Active checks, and lookups that outlive their check. */
  #active = 0

  constructor(options: CheckOptions) {
    this.#options = { ...defaults, ...options }
  }

  /** Checks a domain of the caller's account, and its files: accounts must not probe other hosts. Rejects with `overloaded`. */
  async check(name: string, network: Network, files: Files): Promise<Reachability> {
    const { storage, concurrency } = this.#options
    const { position } = await storage.changesAfter(null)
    const key = `${network} ${name} ${createHash('sha256').update(JSON.stringify(files)).digest('base64')}`
    const last = this.#checks.get(key)
    if (last !== undefined && performance.now() - last.since < checkCacheMs) return last.result
    if (this.#active >= concurrency) throw overloaded('Too many domains are being checked. Try again shortly.')
    const result = this.#run(name, fingerprintOfInstance(position.database), files, network)
    this.#checks.set(key, { since: performance.now(), result })
    return result
  }

  /** Looks up the addresses of a public host name. Returns none for other names and while overloaded. Never rejects. */
  async lookUpAddresses(host: string): Promise<readonly string[]> {
    const last = this.#lookups.get(host)
    if (last !== undefined && performance.now() - last.since < addressCacheMs) return last.addresses
    if (!isPublicName(host) || this.#active >= this.#options.concurrency) return []
    const addresses = this.#lookUp(host)
    const lookup: Lookup = { since: performance.now(), addresses, found: last?.found ?? [] }
    this.#lookups.set(host, lookup)
    lookup.found = await addresses
    return addresses
  }

  /** Returns the cached addresses, and refreshes them in the background by the rules of `lookUpAddresses`. */
  cachedAddresses(host: string): readonly string[] {
    void this.lookUpAddresses(host)
    return this.#lookups.get(host)?.found ?? []
  }

  /** Returns the public IPv4 addresses of this machine's network interfaces. IPv6 addresses may be temporary. */
  publicAddresses(): readonly string[] {
    const all = Object.values(this.#options.interfaces()).flatMap((some) => some ?? [])
    return all.flatMap(({ family, address }) => (family === 'IPv4' && isPublicAddress(address) ? [address] : []))
  }

  async #lookUp(host: string): Promise<readonly string[]> {
    this.#active += 1
    try {
      return addressesIn(await findRecords(host, this.#options.dns))
    } catch {
      return []
    } finally {
      this.#active -= 1
    }
  }

  async #run(name: string, fingerprint: string, files: Files, network: Network): Promise<Reachability> {
    const { shortUrl, dns } = this.#options
    this.#active += 1
    try {
      const records = isLocalName(name) ? 'no records' : await findRecords(name, dns)
      if (network === 'public' && !(isPublicName(name) && addressesIn(records).every(isPublicAddress)))
        return { records: 'no records', answer: 'private address', files: {} }
      const url = shortUrl(name, fingerprintPath)
      // The system's resolver would block one of its few threads for many seconds.
      const isSilent = records === 'no answer'
      const how = this.#counted(this.#options.probe, soleFamily(records), network)
      const fileResults = Object.entries(files).map(async ([path, content]): Promise<[string, FileResult]> => {
        const secure = `https://${name}:${how.httpsPort}/${path}`
        return [path, isSilent ? 'no answer' : await probeFile(secure, content, how)]
      })
      const answer = isSilent ? 'no answer' : await probe(url, fingerprint, how)
      const hasNoAddress = !isLocalName(name) && !isSilent && addressesIn(records).length === 0
      const reached = answer === 'no answer' && hasNoAddress ? 'no DNS' : answer
      return { records, answer: reached, files: Object.fromEntries(await Promise.all(fileResults)) }
    } finally {
      this.#active -= 1
    }
  }

  /** Counts the lookups of a probe as active until they end, because the system continues them after a timeout. */
  #counted(how: ProbeOptions, family: 0 | 4 | 6, network: Network): ProbeOptions {
    const find = how.lookup ?? (lookup as LookupFunction)
    const counted: LookupFunction = (host, options, callback) => {
      this.#active += 1
      find(host, { ...options, family }, (error, found, ...rest) => {
        this.#active -= 1
        const addresses = Array.isArray(found) ? found.map(({ address }) => address) : [found]
        // The system may know other addresses than the DNS.
        const isAllowed = network === 'any' || addresses.every(isPublicAddress)
        if (error !== null || isAllowed) callback(error, found, ...rest)
        else callback(Object.assign(new Error('Private address'), { code: 'ENOTFOUND' }), [])
      })
    }
    return { ...how, lookup: counted }
  }
}

/** Returns the only address family of the records, because the DNS may be silent on the other one; 0 for any. */
function soleFamily(records: FoundRecords): 0 | 4 | 6 {
  const families = new Set(addressesIn(records).map(isIP))
  const [family] = families
  return families.size === 1 ? (family as 4 | 6) : 0
}

export function addressesIn(records: FoundRecords): string[] {
  return typeof records === 'string' ? [] : records.flatMap(({ type, value }) => (type === 'CNAME' ? [] : [value]))
}

// As in http/listener.ts: an import would load undici.
const http = process.getBuiltinModule('node:http')
const https = process.getBuiltinModule('node:https')

/** Whether a URL reaches this instance. */
type ProbeResult = 'here' | 'elsewhere' | 'no answer' | 'certificate error'

interface ProbeOptions {
  /** Milliseconds for the whole probe. */
  readonly timeoutMs: number
  /** The port of files, and the only one to which redirects are followed, because others would allow port scans. */
  readonly httpsPort: number
  /** Resolves a host; the system's resolver by default. */
  readonly lookup?: LookupFunction
}

/** Bytes to read; a fingerprint is much shorter. */
const maxFingerprint = 1_024
/** Interim responses, such as 103 (Early Hints), before the final response. */
const maxInterim = 8

/** Compares the response of the URL with the fingerprint. Follows one redirect to HTTPS. Never rejects. */
export async function probe(url: string, fingerprint: string, options: ProbeOptions): Promise<ProbeResult> {
  const signal = AbortSignal.timeout(options.timeoutMs)
  try {
    const response = await requestOnce(url, signal, options)
    const secureUrl = findSecureVersion(url, response, options.httpsPort)
    if (secureUrl === null) return await compare(response, fingerprint)
    response.destroy()
    return await compare(await requestOnce(secureUrl, signal, options), fingerprint)
  } catch (error) {
    return isTlsError(error) ? 'certificate error' : 'no answer'
  }
}

/** Whether the response of a URL is a file: otherwise, the first difference. */
export type FileResult = 'served' | 'redirect' | 'status' | 'type' | 'content' | 'no answer' | 'certificate error'

/** Compares the response of the URL with a JSON file. Follows no redirect. Never rejects. */
export async function probeFile(url: string, content: string, options: ProbeOptions): Promise<FileResult> {
  try {
    const response = await requestOnce(url, AbortSignal.timeout(options.timeoutMs), options)
    const result = findDifference(response)
    const expected = Buffer.from(content)
    const isSame = result === null && expected.equals(await readStart(response, expected.length + 1))
    response.destroy()
    return result ?? (isSame ? 'served' : 'content')
  } catch (error) {
    return isTlsError(error) ? 'certificate error' : 'no answer'
  }
}

/** Returns what differs between the head of a response and the head of a JSON file; null if nothing does. */
function findDifference({ statusCode = 0, headers }: IncomingMessage): FileResult | null {
  if (statusCode >= 300 && statusCode < 400) return 'redirect'
  if (statusCode !== 200) return 'status'
  return /^application\/json\s*(?:;|$)/i.test(headers['content-type'] ?? '') ? null : 'type'
}

/**
 * Sends a GET request, and resolves with the response before its body is read. Follows no redirect. `timeout` only limits
 * how long the connection takes. Rejects without a response. `fetch` would read interim responses without limit.
 */
export async function requestOnce(url: string, signal: AbortSignal, options: RequestOptions): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  // A compressed body could expand to any size.
  const headers = { 'user-agent': 'Waymark', 'accept-encoding': 'identity', ...options.headers }
  const { get } = url.startsWith('https:') ? https : http
  const request = get(url, { agent: false, ...options, headers, signal }, resolve).on('error', reject)
  let interim = 0
  request.on('information', () => {
    interim += 1
    if (interim > maxInterim) request.destroy(new Error('Too many interim responses'))
  })
  request.on('timeout', () => {
    if (request.socket?.connecting) request.destroy(Object.assign(new Error('No connection'), { code: 'ETIMEDOUT' }))
  })
  // A switch to another protocol (101) only closes the request.
  request.on('close', () => reject(new Error('No response')))
  return promise
}

/** Returns the destination of a redirect to the same URL over HTTPS; otherwise null. */
function findSecureVersion(url: string, { headers }: IncomingMessage, httpsPort: number): string | null {
  const [from, to] = [new URL(url), URL.parse(headers.location ?? '', url)]
  if (from.protocol !== 'http:' || to?.protocol !== 'https:') return null
  const isSame = from.hostname === to.hostname && from.pathname === to.pathname
  if (!isSame || (to.port === '' ? 443 : Number(to.port)) !== httpsPort) return null
  return `${to.origin}${from.pathname}`
}

/** Returns whether a response is this instance's fingerprint, and ends it. */
export async function compare(response: IncomingMessage, fingerprint: string): Promise<'here' | 'elsewhere'> {
  const isHere =
    response.statusCode === 200 && (await readStart(response, maxFingerprint)).toString('latin1').trim() === fingerprint
  response.destroy()
  return isHere ? 'here' : 'elsewhere'
}

/** Reads at most `most` bytes. */
async function readStart(body: AsyncIterable<Buffer>, most: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= most) break
  }
  return Buffer.concat(chunks, Math.min(bytes, most))
}
