/**
 * Which URLs a domain may lead to. Pure rules: text in, the same text or a refusal out.
 */
import { Refusal, type ViolationCode } from '../errors.ts'

/**
 * Reads an absolute http or https URL with a host, and returns it as sent. Whatever the parser of the URL Standard
 * would silently repair is refused: missing or superfluous slashes, backslashes, white space, control characters.
 */
export function parseWebUrl(text: string): string | Refusal {
  const problem = examine(text)
  return problem === null ? text : new Refusal(problem, `${advice[problem]}: write ${hint(text)}.`)
}

const advice = {
  too_long: 'A URL has at most 2048 characters',
  control_characters: 'Leave out control characters and broken Unicode',
  has_space: 'Leave out white space, or encode it as %20',
  has_backslash: 'Use slashes, not backslashes',
  not_absolute: 'The URL must be absolute, with a scheme, two slashes and a host',
  unsupported_scheme: 'Only http:// and https:// are supported',
  has_credentials: 'Leave out the user name and password',
  host_missing: 'The URL must have a host after its two slashes',
  invalid_url: 'The host or the port is not valid',
} as const satisfies Partial<Record<ViolationCode, string>>

type Problem = keyof typeof advice

/** In code points. */
export const longestUrl = 2048
const longestHint = 64

function examine(text: string): Problem | null {
  if (isTooLong(text)) return 'too_long'
  if (/\p{Cc}/u.test(text) || !text.isWellFormed()) return 'control_characters'
  if (/\s/.test(text)) return 'has_space'
  if (text.includes('\\')) return 'has_backslash'
  const authority = /^https?:\/\/([^/?#]*)/i.exec(text)?.[1]
  if (authority === undefined) return hasOtherScheme(text) ? 'unsupported_scheme' : 'not_absolute'
  if (authority.includes('@')) return 'has_credentials'
  if (/^(?::\d*)?$/.test(authority)) return 'host_missing'
  const url = URL.parse(text)
  if (url === null || authority.includes('%')) return 'invalid_url'
  return /^\.*$/.test(url.hostname) ? 'host_missing' : null
}

function isTooLong(text: string): boolean {
  if (text.length <= longestUrl) return false
  return text.length > 2 * longestUrl || [...text].length > longestUrl
}

/** RFC 3986 §3.1. A name before a port, as in `localhost:3000/path`, is not meant as a scheme. */
function hasOtherScheme(text: string): boolean {
  return /^[a-z][a-z\d+.-]*:(?!\d+(?:[/?#]|$))/i.test(text) && !/^https?:/i.test(text)
}

/** The URL that was probably meant, when that is short and can be told from the text. */
function hint(text: string): string {
  const meant = text.length > longestHint ? '' : withoutMistakes(text)
  const isPlain = meant.length <= longestHint && /^[\w.~:/?#[\]@!$&'()*+,;=%-]+$/.test(meant)
  const isMeant = isPlain && examine(meant) === null && /^https?:\/\/[^/?#[]*[^/?#.[]\.[^/?#.]/i.test(meant)
  return isMeant ? meant : 'a URL such as https://go.acme.com/path'
}

function withoutMistakes(text: string): string {
  const scheme = /^http:/i.test(text) ? 'http' : 'https'
  const rest = text
    .replaceAll('\\', '/')
    .replace(/^(?:[a-z][a-z\d+.-]*:\/\/|https?:|\/\/)\/*/i, '')
    .replace(/^[^/?#]*@/, '')
    .replace(/\s/g, '%20')
  return `${scheme}://${rest}`
}
