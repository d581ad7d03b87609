/** The rules of URLs to which visitors may be redirected. */

import { type CodeWith, Refusal } from '../violations.ts'
import { findHostProblem, type HostProblem, maxNameLength } from './host-name.ts'

/** Returns an absolute http or https URL unchanged. Refuses any that the parser of the URL Standard would repair. */
export function parseWebUrl(text: string, maxLength = maxUrlLength): string | Refusal {
  return parse(text, maxLength, examine)
}

/** The schemes of destinations that every instance allows. */
const standardSchemes: readonly string[] = ['http', 'https', 'mailto', 'tel', 'sms']
/** Schemes that run a script, or show something on the visitor's device. No destination has one. */
export const unsafeSchemes: readonly string[] = ['javascript', 'data', 'vbscript', 'file', 'blob', 'about']

/**
 * Returns the destination of a link unchanged: a URL as `parseWebUrl` accepts, or a URL of any other scheme that is not
 * unsafe. Whether the instance allows the scheme is another question: see `schemeRefusal`.
 */
export function parseDestination(text: string, maxLength: number): string | Refusal {
  return parse(text, maxLength, examineDestination)
}

/** Returns why an instance with these further schemes does not allow a parsed destination; null if it does. */
export function schemeRefusal(url: string, further: readonly string[]): Refusal | null {
  const allowed = [...standardSchemes, ...further]
  if (allowed.includes(parseScheme(url) ?? '')) return null
  return new Refusal('unsupported_scheme.destination', { schemes: listed(allowed) })
}

/** Returns the scheme of a text in lower case (RFC 3986 §3.1); null if it has none. */
function parseScheme(text: string): string | null {
  const [, name = null] = /^([a-z][a-z\d+.-]*):/i.exec(text) ?? []
  const scheme = name?.toLowerCase() ?? null
  // A name before a port, as in `localhost:3000/path`, is not meant as a scheme.
  const isKnown = [...standardSchemes, ...unsafeSchemes].includes(scheme ?? '')
  const isHost = !isKnown && /^[^:]*:\d{1,5}(?:[/?#]|$)/.test(text)
  return isHost ? null : scheme
}

/** Returns whether a page may link to a stored URL. */
export function isLinkable(url: string): boolean {
  return !unsafeSchemes.includes(parseScheme(url) ?? '')
}

/** Returns whether a URL has the scheme http or https. */
export function isWebUrl(text: string): boolean {
  return /^https?:/i.test(text)
}

function parse(text: string, maxLength: number, find: (text: string) => Finding | null): string | Refusal {
  if (isLonger(text, maxLength)) return new Refusal('too_long.url', { most: maxLength, hint: hint(text, find) })
  const found = find(text)
  if (found !== null) return new Refusal(found, { hint: hint(text, find) })
  const { length } = new URL(text).href
  return length > maxSerializedLength ? new Refusal('too_long.encoded', { most: maxSerializedLength, length }) : text
}

export const maxUrlLength = 2048
/** In characters. Destinations may be longer than a domain's URLs. */
export const maxTargetLength = 8192
/** The longest URL as the URL Standard serializes it: a letter of any other script takes up to 12 characters. */
const maxSerializedLength = 8192
const maxHintLength = 64
/** The ASCII characters of a URL. */
const visibleAscii = /^[!-[\]-~]*$/
/** U+061C, U+200E, U+200F, U+202A to U+202E and U+2066 to U+2069. */
const bidiControls = /\p{Bidi_Control}/u
/** Characters such as U+200B to U+200D, except variation selectors, which emoji need. */
const invisibles = /[[\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]--\p{Variation_Selector}]/v
/** U+200C and U+200D, which Arabic and Indic scripts and emoji need. A host must not have them. */
const joiners = /[\u200c\u200d]/g

type UrlProblem = Exclude<CodeWith<'url'>, 'too_long'>
/** The message about a problem of the URL, or of its host. */
type Finding = `${UrlProblem}.url` | `${HostProblem}.host`

function examineDestination(text: string): Finding | null {
  const scheme = parseScheme(text)
  if (scheme === null || isWebUrl(text) || unsafeSchemes.includes(scheme)) return examine(text)
  const problem = findCharacterProblem(text)
  if (problem !== null) return inUrl(problem)
  if (text.length === scheme.length + ':'.length) return inUrl('scheme_alone')
  if (!URL.canParse(text)) return inUrl('invalid_url')
  const hidden = findHidden('', text)
  return hidden === null ? null : inUrl(hidden)
}

function examine(text: string): Finding | null {
  const problem = findCharacterProblem(text)
  if (problem !== null) return inUrl(problem)
  const authority = /^https?:\/\/([^/?#]*)/i.exec(text)?.[1]
  const hasOtherScheme = parseScheme(text) !== null && !isWebUrl(text)
  if (authority === undefined) return inUrl(hasOtherScheme ? 'unsupported_scheme' : 'not_absolute')
  if (authority.includes('@')) return inUrl('has_credentials')
  if (/^(?::\d*)?$/.test(authority)) return inUrl('host_missing')
  const host = isParsable(authority) ? URL.parse(text)?.hostname : undefined
  if (host === undefined || authority.includes('%')) return inUrl('invalid_url')
  if (/^\.*$/.test(host)) return inUrl('host_missing')
  if (/^https?\.?$/.test(host)) return inUrl('doubled_scheme')
  const hidden = findHidden(authority, text)
  if (hidden !== null) return inUrl(hidden)
  const hostProblem = findHostProblem(host)
  return hostProblem === null ? null : `${hostProblem}.host`
}

function inUrl(problem: UrlProblem): Finding {
  return `${problem}.url`
}

function findCharacterProblem(text: string): UrlProblem | null {
  if (visibleAscii.test(text)) return null
  if (/\p{Cc}/u.test(text) || !text.isWellFormed()) return 'control_characters'
  if (/\s/.test(text)) return 'has_space'
  return text.includes('\\') ? 'has_backslash' : null
}

function findHidden(authority: string, text: string): UrlProblem | null {
  if (visibleAscii.test(text)) return null
  if (bidiControls.test(text)) return 'bidi_control'
  return invisibles.test(authority) || invisibles.test(text.replace(joiners, '')) ? 'invisible_character' : null
}

/** `URL.parse` takes quadratic time to write a host in Punycode. */
function isParsable(authority: string): boolean {
  return authority.length <= maxNameLength + ':65535'.length || visibleAscii.test(authority)
}

function isLonger(text: string, max: number): boolean {
  if (text.length <= max) return false
  return text.length > 2 * max || [...text].length > max
}

const example = 'a URL such as https://acme.com/summer'
/** Hints for the schemes whose URLs have no host. */
const opaqueExamples: Readonly<Record<string, string>> = {
  mailto: 'a URL such as mailto:name@acme.com',
  tel: 'a URL such as tel:+15550100',
  sms: 'a URL such as sms:+15550100',
}

/** Suggests a short URL that the text probably means, and that `find` accepts. */
function hint(text: string, find: (text: string) => Finding | null): string {
  const scheme = parseScheme(text) ?? ''
  const isOpaque = scheme in opaqueExamples && find(`${scheme}:1`) === null
  const general = isOpaque ? (opaqueExamples[scheme] ?? example) : example
  // The length first, because the expression takes quadratic time.
  if (text.length > maxHintLength || /[\s,;]\s*[a-z][a-z\d+.-]*:\/\//i.test(text)) return general
  const meant = isOpaque ? encodeSpaces(text) : withoutMistakes(text)
  const isPlain = meant.length <= maxHintLength && /^[\w.~:/?#[\]@!$&'()*+,;=%-]+$/.test(meant)
  const isNamed = isOpaque || /^https?:\/\/[^/?#[]*[^/?#.[]\.[^/?#.]/i.test(meant)
  return isPlain && isNamed && find(meant) === null ? meant : general
}

/** Returns an http or https URL; an empty text for a URL that can't become one, such as `mailto:a@acme.com`. */
function withoutMistakes(text: string): string {
  if (parseScheme(text) !== null && !isWebUrl(text) && !text.includes('://')) return ''
  const scheme = /^http:/i.test(text) ? 'http' : 'https'
  const rest = text
    .replaceAll('\\', '/')
    .replace(/^(?:(?:[a-z][a-z\d+.-]*:\/\/|https?:|https?(?=\/\/)|\/\/)\/*)+/i, '')
    .replace(/^[^/?#]*@/, '')
  return encodeSpaces(`${scheme}://${rest}`)
}

/** Removes what does not show, and encodes white space within a text. */
function encodeSpaces(text: string): string {
  const shown = text.replace(/[[\p{Cc}\p{Default_Ignorable_Code_Point}]--[\s]]/gv, '').replace(/[\t\r\n]/g, '')
  return shown.trim().replace(/\s/g, '%20')
}

function listed(schemes: readonly string[]): string {
  return `${schemes.slice(0, -1).join(', ')} and ${schemes.at(-1)}`
}
