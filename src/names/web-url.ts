/** The rules of URLs to which visitors may be redirected. */

import { type CodeWith, Refusal } from '../violations.ts'
import { findHostProblem, type HostProblem, maxNameLength } from './host-name.ts'

/** Returns an absolute http or https URL unchanged. Refuses any that the parser of the URL Standard would repair. */
export function parseWebUrl(text: string, maxLength = maxUrlLength): string | Refusal {
  if (isLonger(text, maxLength)) return new Refusal('too_long.url', { most: maxLength, hint: hint(text) })
  const found = examine(text)
  if (found !== null) return new Refusal(found, { hint: hint(text) })
  const { length } = new URL(text).href
  return length > maxSerializedLength ? new Refusal('too_long.encoded', { most: maxSerializedLength, length }) : text
}

export const maxUrlLength = 2048
/** The longest URL as the URL Standard serializes it: a letter of any other script takes up to 12 characters. */
export const maxSerializedLength = 8192
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

function examine(text: string): Finding | null {
  const problem = findCharacterProblem(text)
  if (problem !== null) return inUrl(problem)
  const authority = /^https?:\/\/([^/?#]*)/i.exec(text)?.[1]
  if (authority === undefined) return inUrl(hasOtherScheme(text) ? 'unsupported_scheme' : 'not_absolute')
  if (authority.includes('@')) return inUrl('has_credentials')
  if (/^(?::\d*)?$/.test(authority)) return inUrl('host_missing')
  const host = isParsable(authority) ? URL.parse(text)?.hostname : undefined
  if (host === undefined || authority.includes('%')) return inUrl('invalid_url')
  if (/^\.*$/.test(host)) return inUrl('host_missing')
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

/** RFC 3986 §3.1. A name before a port, as in `localhost:3000/path`, is not meant as a scheme. */
function hasOtherScheme(text: string): boolean {
  return /^[a-z][a-z\d+.-]*:(?!\d+(?:[/?#]|$))/i.test(text) && !/^https?:/i.test(text)
}

/** Suggests a short URL that the text probably means. */
function hint(text: string): string {
  // `mailto:a@acme.com` contains no host.
  const isOpaque = hasOtherScheme(text) && !text.includes('://')
  const meant = isOpaque || text.length > maxHintLength ? '' : withoutMistakes(text)
  const isPlain = meant.length <= maxHintLength && /^[\w.~:/?#[\]@!$&'()*+,;=%-]+$/.test(meant)
  const isMeant = isPlain && examine(meant) === null && /^https?:\/\/[^/?#[]*[^/?#.[]\.[^/?#.]/i.test(meant)
  return isMeant ? meant : 'a URL such as https://go.acme.com/path'
}

function withoutMistakes(text: string): string {
  const scheme = /^http:/i.test(text) ? 'http' : 'https'
  const rest = text
    .replace(/\p{Cc}/gu, '')
    .replaceAll('\\', '/')
    .replace(/^(?:[a-z][a-z\d+.-]*:\/\/|https?:|\/\/)\/*/i, '')
    .replace(/^[^/?#]*@/, '')
    .replace(/[\s\p{Default_Ignorable_Code_Point}]/gu, encodeURIComponent)
  return `${scheme}://${rest}`
}
