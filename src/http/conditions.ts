/**
 * Conditional requests (RFC 9110 §13) and entity tags (§8.8.3).
 */
import { Failure, preconditionFailed } from '../errors.ts'
import type { Exchange } from './exchange.ts'
import { addHeader, gzipSuffix } from './response.ts'

/** The value of If-Match or If-None-Match: any state (`*`), or a list of states. */
export type EntityTags = '*' | readonly EntityTag[]

export interface EntityTag {
  readonly isWeak: boolean
  /** The text between the quotes. */
  readonly opaque: string
}

/** The conditions of a request in If-Match and If-None-Match. */
export class Condition {
  readonly #match: EntityTags | null
  readonly #noneMatch: EntityTags | null

  constructor(match: EntityTags | null, noneMatch: EntityTags | null) {
    this.#match = match
    this.#noneMatch = noneMatch
  }

  /** Checks the condition of a request that changes a record of this version. Throws `precondition_failed`. */
  check(version: string): void {
    this.#checkMatch(version)
    if (this.#noneMatch === null) return
    const tags = this.#noneMatch === '*' ? '*' : this.#noneMatch.map(({ opaque }) => strong(versionIn(opaque)))
    if (matchesWeakly(tags, versionIn(version)) !== undefined) throw preconditionFailed(version)
  }

  /**
   * Checks the condition of a request that shows a record of this version. Returns the client's tag for it, without quotes,
   * or undefined if the client does not have it. Throws `precondition_failed` (§13.2.2).
   */
  knownAs(version: string): string | undefined {
    this.#checkMatch(version)
    return this.#noneMatch === null ? undefined : matchesWeakly(this.#noneMatch, version)
  }

  /** If-Match protects only editable fields; others, such as clicks, may have changed. */
  #checkMatch(version: string): void {
    if (this.#match === null) return
    const edited = (tag: EntityTag) => ({ ...tag, opaque: versionIn(tag.opaque) })
    const tags = this.#match === '*' ? '*' : this.#match.map(edited)
    if (matchesStrongly(tags, versionIn(version)) === undefined) throw preconditionFailed(version)
  }
}

/**
 * Returns the conditions of a request, or null if it has none. Throws `malformed_request`, because ignoring an invalid
 * condition could overwrite a change.
 */
export function conditionOf({ headers }: Pick<Exchange, 'headers'>): Condition | null {
  const match = headers['if-match']
  const noneMatch = headers['if-none-match']
  if (match === undefined && noneMatch === undefined) return null
  return new Condition(parseHeader('If-Match', match), parseHeader('If-None-Match', noneMatch))
}

/** Adds the entity tag of a GET. Returns whether the client has this version, so that the status should be 304. */
export function addEntityTag(exchange: Exchange, version: string, condition: Condition | null): boolean {
  const known = condition?.knownAs(version)
  addHeader(exchange, 'etag', entityTagOf(known ?? version))
  return known !== undefined
}

/**
 * Returns the version of a record including fields that cannot be edited, such as clicks. `shown` identifies the state of
 * those fields, and must not contain a tilde.
 */
export function shownVersion(version: string, shown: string): string {
  return `${version}${separator}${shown}`
}

const separator = '~'

/** Returns the version of the editable fields. */
function versionIn(opaque: string): string {
  const at = opaque.indexOf(separator)
  return at < 0 ? opaque : opaque.slice(0, at)
}

function strong(opaque: string): EntityTag {
  return { isWeak: false, opaque }
}

/** Returns the strong tag of a version. */
export function entityTagOf(version: string): string {
  return `"${version}"`
}

function parseHeader(name: string, value: string | undefined): EntityTags | null {
  if (value === undefined) return null
  const tags = parseEntityTags(value)
  if (tags !== null) return tags
  throw new Failure(
    'malformed_request',
    `The ${name} header must be an entity tag in double quotes, as in the ETag header, or a list of them, or *.`,
  )
}

/**
 * Parses an If-Match or If-None-Match header: `*`, or a list in which empty elements are ignored (§5.6.1.2). Returns null
 * for any other value, and for an empty list, which an unset shell variable would cause.
 */
export function parseEntityTags(value: string): EntityTags | null {
  if (value === '*') return '*'
  if (!list.test(value)) return null
  const tags = [...value.matchAll(tag)].map(([, weak, opaque = '']) => ({ isWeak: weak !== undefined, opaque }))
  return tags.length === 0 ? null : tags
}

/** Returns the tag that matches in a strong comparison (§8.8.3.2). */
export function matchesStrongly(tags: EntityTags, version: string): string | undefined {
  return matchesWeakly(tags === '*' ? tags : tags.filter(({ isWeak }) => !isWeak), version)
}

/** Returns the tag that matches in a weak comparison (§8.8.3.2), with or without the suffix for compression. */
export function matchesWeakly(tags: EntityTags, version: string): string | undefined {
  if (tags === '*') return version
  return tags.find(({ opaque }) => opaque === version || opaque === version + gzipSuffix)?.opaque
}

const tag = /(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/g
const list = /^[\t ,]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*(?:,[\t ,]*|$))*$/
