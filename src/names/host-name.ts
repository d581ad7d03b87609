/** The rules of host names, for domains and for the hosts of URLs. */
import { isIPv6 } from 'node:net'
import { domainToASCII, domainToUnicode } from 'node:url'
import { parse as splitAtSuffix } from 'tldts'
import { type CodeWith, Refusal } from '../violations.ts'
import { blanks, findSpoof } from './spoofing.ts'

/** A host name in the two spellings of RFC 5890 §2.3.2.1. Parsing either spelling returns the same host name. */
export interface HostName {
  /** With A-labels, in lower case, without a trailing dot; at most 253 characters. */
  readonly name: string
  readonly nameUnicode: string
}

/** Parses a host name (RFC 1123 §2.1 after the mapping of UTS 46). `localhost` and `wiki.corp` are valid. */
export function parseHostName(text: string): HostName | Refusal {
  const found = examine(text)
  return typeof found === 'string' ? new Refusal(`${found}.host`, { hint: hint(found, text) }) : found
}

export type HostProblem = CodeWith<'host'>

/** Bounds the work spent on one name. Mapping may shorten a name, so this is above `maxNameLength`. */
const maxInputLength = 1024
/** RFC 1035 §2.3.4 allows 255 octets on the wire, which is 253 characters with dots. */
export const maxNameLength = 253
/** RFC 1035 §2.3.4. */
const maxLabelLength = 63
const maxHintLength = 64

/** RFC 1123 §2.1: labels of letters, digits and inner hyphens, the first of which may be a digit; then the root's dot. */
const plainName = /^(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)*[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.?$/i
/** RFC 5890 §2.3.2.1: how an A-label begins. */
const acePrefix = /(?:^|\.)xn--/i
const schemePrefix = /^(?:(?:[a-z][a-z\d+.-]*)?:)?\/\/|^https?:/
/** As in `mailto:x`. With a dot, or before a digit, it is a host with a port. */
const bareScheme = /^[a-z][a-z\d+-]*:(?=\D)/
/** More consecutive combining marks than fit in a label. Normalization would take quadratic time. */
const longMarks = /(?<!\p{M})\p{M}{64}/u
const ascii = /^[\0-\x7f]*$/
/** A number for the IPv4 parser of the URL Standard: decimal, octal, or `0x` even without digits. */
const ipv4Number = /^(?:\d+|0x[\da-f]*)$/

function examine(text: string): HostName | HostProblem {
  if (text.length > maxInputLength) return 'too_long'
  if (plainName.test(text) && !acePrefix.test(text)) {
    const name = withoutRootDot(text.toLowerCase())
    return unusable(name) ?? { name, nameUnicode: name }
  }
  const folded = fold(text)
  return misplacedPart(text, folded) ?? examineMapped(text, folded)
}

/** Returns the name without a dot at its end. */
export function withoutRootDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name
}

/** Maps the text nearly like UTS 46, but keeps invalid characters, so that the error message can name them. */
function fold(text: string): string {
  const isFolded = ascii.test(text) || longMarks.test(text)
  const mapped = isFolded ? text : text.normalize('NFKC').replaceAll('\u3002', '.')
  return mapped.toLowerCase()
}

/** Rejects ASCII other than letters, digits, hyphens and dots, because `domainToASCII` would decode, cut or skip it. */
function misplacedPart(text: string, folded: string): HostProblem | null {
  if (schemePrefix.test(folded)) return 'has_scheme'
  if (isIpv6Like(folded)) return 'ip_address'
  if (/\s/.test(text)) return 'has_space'
  if (folded.includes('\\')) return 'has_backslash'
  const authority = untilPath(folded)
  if (authority.includes('@')) return 'has_credentials'
  if (authority.includes('*')) return 'has_wildcard'
  if (authority.includes(':')) return bareScheme.test(authority) ? 'has_scheme' : 'has_port'
  if (authority !== folded) return 'has_path'
  if (folded.includes('_')) return 'has_underscore'
  return /[\0-,:-`{-\x7f]/.test(folded) ? 'invalid_character' : null
}

/** Returns whether the text is an IPv6 address (RFC 4291 §2.2), also with a prefix length or in brackets. */
function isIpv6Like(folded: string): boolean {
  return isIPv6(untilPath(folded)) || /^\[[^\]]*:/.test(folded)
}

function untilPath(text: string): string {
  const end = text.search(/[/?#]/)
  return end === -1 ? text : text.slice(0, end)
}

/** Examines the result of the UTS 46 mapping or, if the mapping fails, the text. */
function examineMapped(text: string, folded: string): HostName | HostProblem {
  const mapped = isOverlong(folded) ? '' : withoutRootDot(domainToASCII(text))
  const name = mapped === '' ? withoutRootDot(folded) : mapped
  const problem = malformedLabel(name) ?? unusable(name)
  if (problem !== null) return problem
  if (mapped === '') return 'invalid_character'
  const nameUnicode = domainToUnicode(name)
  return text.search(blanks) !== -1 ? 'invisible_character' : (findSpoof(nameUnicode) ?? { name, nameUnicode })
}

/** Returns whether a label or the name is too long before Punycode, which takes quadratic time for long labels. */
function isOverlong(folded: string): boolean {
  if (folded.length <= maxLabelLength || ascii.test(folded)) return false
  if (longMarks.test(folded)) return true
  const mapped = folded.replace(/\p{Default_Ignorable_Code_Point}+/gu, '').normalize('NFC')
  return /[^.]{64}|^.{255}/su.test(mapped)
}

function malformedLabel(name: string, mayHaveHyphens = false): HostProblem | null {
  for (const label of name.split('.')) {
    if (label === '') return 'empty_label'
    if (label.length > maxLabelLength) return 'label_too_long'
    const written = label.startsWith('xn--') ? domainToUnicode(label) : label
    if (label.startsWith('xn--') && !isUnicodeLabelOf(label, written)) return 'invalid_punycode'
    if (!mayHaveHyphens && (written.startsWith('-') || written.endsWith('-'))) return 'hyphen_at_edge'
  }
  return null
}

/** RFC 5890 §2.3.2.1: a U-label is not ASCII, and converting it gives its A-label back. */
function isUnicodeLabelOf(aLabel: string, written: string): boolean {
  return /[^\0-\x7f]/.test(written) && domainToASCII(written) === aLabel
}

/**
 * Returns the problem of a parsed URL's host, or null. It may be an IP address or public suffix, and have underscores and
 * hyphens at the edges of labels, as some hosts on the web do.
 */
export function findHostProblem(hostname: string): HostProblem | null {
  const name = withoutRootDot(hostname)
  if (name.length > maxNameLength) return 'too_long'
  if (name.startsWith('[') || (plainName.test(hostname) && !acePrefix.test(name))) return null
  if (name.includes('*')) return 'has_wildcard'
  if (/[^a-z\d._-]/.test(name)) return 'invalid_character'
  return malformedLabel(name, true) ?? findSpoof(domainToUnicode(name))
}

/** Rejects long names, numbers (by the URL Standard) and public suffixes. */
function unusable(name: string): HostProblem | null {
  if (name.length > maxNameLength) return 'too_long'
  if (ipv4Number.test(name.slice(name.lastIndexOf('.') + 1))) {
    const labels = name.split('.')
    return labels.length <= 4 && labels.every((label) => ipv4Number.test(label)) ? 'ip_address' : 'numeric_last_label'
  }
  const { publicSuffix, isIcann, isPrivate } = splitAtSuffix(name, suffixOptions)
  return publicSuffix === name && (isIcann === true || isPrivate === true) ? 'public_suffix' : null
}

/** How names are split at their public suffix. */
export const suffixOptions = {
  allowPrivateDomains: true,
  detectIp: false,
  extractHostname: false,
  validateHostname: false,
}

/** Suggests a short host name that the text probably means. */
function hint(problem: HostProblem, text: string): string {
  if (problem === 'invalid_punycode') return exampleHint
  if (problem === 'public_suffix') return shortHint(`go.acme.${text}`, 'a name such as ')
  const start = text.slice(0, maxNameLength)
  const candidate = withoutMistakes(start)
  // `go acme` doesn't mean the single label `goacme`.
  const isInvented = !candidate.includes('.') && !fold(start).includes(candidate)
  return isInvented ? exampleHint : shortHint(candidate, '')
}

const exampleHint = 'a name such as go.acme.com'

/** Shows U-labels only in Latin letters, which every terminal displays in order. */
function shortHint(candidate: string, introduction: string): string {
  const meant = candidate.length > maxHintLength ? 'too_long' : examine(candidate)
  if (typeof meant === 'string' || meant.name.length > maxHintLength) return exampleHint
  const { name, nameUnicode } = meant
  return introduction + (/^[\p{Script=Latin}\d.-]+$/u.test(nameUnicode) ? nameUnicode : name)
}

function withoutMistakes(text: string): string {
  const withoutScheme = fold(text).replaceAll('\\', '/').replace(schemePrefix, '').replace(bareScheme, '')
  const host = untilPath(withoutScheme.replace(/^\/+/, ''))
  return host
    .replace(/^.*@/s, '')
    .replace(/:.*$/s, '')
    .replace(/[\s*]/g, '')
    .replaceAll(blanks, '')
    .replaceAll('_', '-')
    .replace(/\.{2,}/g, '.')
    .replace(/^[.-]+|(?<!-)-+(?=\.|$)|(?<=\.)-+/g, '')
}
