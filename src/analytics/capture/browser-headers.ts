/** The headers that every browser of a name and version sends. Programs that only copy a user agent lack some. */
import type { IncomingHttpHeaders } from 'node:http'
import { memoized } from '../../lib/lru-cache.ts'
import { classifyAgent, maxUserAgent, type VisitorClass } from './visit.ts'

interface Expectation {
  /** When the browser's version was released, in Unix milliseconds, within some weeks; null if unknown. */
  readonly releasedMs: number | null
  /** Headers of each request over HTTPS. */
  readonly overHttps: readonly string[]
}

const dayMs = 86_400_000
/** From this age on, a user agent is more often copied than real, so it needs a browser's headers even over HTTP. */
const oldMs = 5 * 365.25 * dayMs
/** Every browser has sent these since before 2010, over HTTP and HTTPS. */
const always = ['accept', 'accept-language']
/** W3C Fetch Metadata: sent to secure origins, by Chromium from 80, Firefox from 90 and Safari from 16.4 on. */
const fetchMetadata = [...always, 'sec-fetch-dest', 'sec-fetch-mode', 'sec-fetch-site']
/** W3C User-Agent Client Hints: sent by Chrome and Edge from 89 on. */
const clientHints = [...fetchMetadata, 'sec-ch-ua']

/** Chrome, Edge, Opera and Samsung Internet, without the names that apps add. */
const chromium =
  /\) (?<samsung>SamsungBrowser\/\S+ )?Chrome\/(?<version>\d+)\S* (?:Mobile )?Safari\/537\.36(?: (?:EdgA?|OPR)\/[\d.]+)?$/
const firefox = /^Mozilla\/5\.0 \([^()]*\) Gecko\/\S+ Firefox\/(?<version>\d+)[\d.]*$/
const safari =
  /^Mozilla\/5\.0 \((?:Macintosh|iP)[^()]*\).* Version\/(?<version>\d+\.\d+)\S*(?: Mobile\/\w+)? Safari\/[\d.]+$/

/** The parts of a request that decide its class. */
export interface ClassifiedRequest {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly isHttps: boolean
  /** Unix milliseconds. */
  readonly atMs: number
}

/** Returns the class of a visit by its user agent and the headers that browsers send. */
export function classifyVisit(request: ClassifiedRequest): VisitorClass {
  const userAgent = request.headers['user-agent'] ?? ''
  const byAgent = classifyAgent(request.method, userAgent)
  return byAgent === 'person' && lacksBrowserHeader(userAgent, request) ? 'bot' : byAgent
}

/** Returns whether a request lacks a header that every browser with its user agent sends. */
function lacksBrowserHeader(userAgent: string, { headers, isHttps, atMs }: ClassifiedRequest): boolean {
  const { releasedMs, overHttps } = expectation(userAgent)
  const isOld = releasedMs !== null && atMs - releasedMs > oldMs
  const isMissing = (name: string) => headers[name] === undefined
  return (isHttps && overHttps.some(isMissing)) || (isOld && always.some(isMissing))
}

const expectation = memoized(
  (userAgent): Expectation => ({ releasedMs: estimateRelease(userAgent), overHttps: headersOverHttps(userAgent) }),
  maxUserAgent,
)

function headersOverHttps(userAgent: string): readonly string[] {
  const { version: chrome = 0, samsung } = chromium.exec(userAgent)?.groups ?? {}
  if (Number(chrome) >= 89 && samsung === undefined) return clientHints
  const version = (pattern: RegExp) => Number(pattern.exec(userAgent)?.groups?.version ?? 0)
  const hasMetadata = Number(chrome) >= 80 || version(firefox) >= 90 || version(safari) >= 16.4
  return hasMetadata ? fetchMetadata : []
}

/**
 * Returns roughly when the browser was released, in Unix milliseconds; 0 for long ago, null if unknown. On average, Chrome has had
 * a release each 31 days since version 94, and Firefox each 29 days since 93. Safari has one each September.
 */
function estimateRelease(userAgent: string): number | null {
  const version = (pattern: RegExp) => Number(pattern.exec(userAgent)?.[1] ?? 0)
  const chrome = version(/\bChrome\/(\d+)/)
  if (chrome > 0) return chrome < 94 ? 0 : Date.UTC(2021, 8, 21) + (chrome - 94) * 31 * dayMs
  const gecko = version(/\bFirefox\/(\d+)/)
  if (gecko > 0) return gecko < 93 ? 0 : Date.UTC(2021, 9, 5) + (gecko - 93) * 29 * dayMs
  const webkit = version(/\bVersion\/(\d+).* Safari\//) || version(/\b(?:iPhone|CPU) OS (\d+)_/)
  // Apple counted to 18, and then by years: 26 is of 2025.
  if (webkit > 0) return Date.UTC(webkit < 26 ? 2006 + webkit : 1999 + webkit, 8, 15)
  return /\bMSIE |\bTrident\/|\bPresto\//.test(userAgent) ? 0 : null
}
