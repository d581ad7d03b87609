/** Conditional requests (RFC 9110 §13) and entity tags (§8.8.3). */
import { Failure, preconditionFailed } from '../errors.ts'
import { editableVersionIn } from '../lib/record-version.ts'
import type { Exchange } from './exchange.ts'
import { addHeader, formatEntityTag, gzipSuffix } from './response.ts'

/** The value of If-Match or If-None-Match: any state (`*`), or the texts between the quotes of a list of tags. */
type EntityTags = '*' | readonly string[]

/** The conditions of a request. Each is null if the request does not have the header. */
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
    if (this.#noneMatch !== null && hasEditableVersion(this.#noneMatch, version)) throw preconditionFailed(version)
  }

  /** Returns the client's tag for a shown record of this version, if any. Throws `precondition_failed` (§13.2.2). */
  knownAs(version: string): string | undefined {
    this.#checkMatch(version)
    return this.#noneMatch === '*' ? version : this.#noneMatch?.find((tag) => matchesVersion(tag, version))
  }

  #checkMatch(version: string): void {
    if (this.#match !== null && !hasEditableVersion(this.#match, version)) throw preconditionFailed(version)
  }
}

/** Conditions of a change protect only editable fields; others, such as clicks, may have changed. */
function hasEditableVersion(tags: EntityTags, version: string): boolean {
  return tags === '*' || tags.some((tag) => matchesVersion(editableVersionIn(tag), editableVersionIn(version)))
}

/** A tag may have the suffix for compression. */
function matchesVersion(tag: string, version: string): boolean {
  return tag === version || tag === version + gzipSuffix
}

/** Returns the conditions of a request, or null if it has none. Throws `malformed_request`. */
export function readCondition({ headers }: Pick<Exchange, 'headers'>): Condition | null {
  const match = headers['if-match']
  const noneMatch = headers['if-none-match']
  if (match === undefined && noneMatch === undefined) return null
  return new Condition(parseHeader('If-Match', match, 'strong'), parseHeader('If-None-Match', noneMatch, 'weak'))
}

/** Throws `precondition_failed` for an If-Match of a request whose response has no ETag, and `malformed_request`. */
export function rejectIfMatch({ headers }: Pick<Exchange, 'headers'>): void {
  readCondition({ headers })
  if (headers['if-match'] !== undefined) throw preconditionFailed(null)
}

function parseHeader(name: string, value: string | undefined, comparison: 'strong' | 'weak'): EntityTags | null {
  if (value === undefined) return null
  const tags = parseEntityTags(value, comparison)
  if (tags !== null) return tags
  throw new Failure(
    'malformed_request',
    `The ${name} header must be an entity tag in double quotes, as in the ETag header, or a list of them, or *.`,
  )
}

/** Parses `*` or a list (§5.6.1.2), or returns null. Weak tags never match in a strong comparison (§8.8.3.2). */
export function parseEntityTags(value: string, comparison: 'strong' | 'weak'): EntityTags | null {
  if (value === '*') return '*'
  if (!list.test(value)) return null
  const tags = [...value.matchAll(tag)]
  if (tags.length === 0) return null
  const usable = tags.filter(([, weak]) => comparison === 'weak' || weak === undefined)
  return usable.map(([, , opaque = '']) => opaque)
}

const tag = /(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/g
const list = /^[\t ,]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*(?:,[\t ,]*|$))*$/

/** Adds the entity tag of a GET. Returns whether the client has this version, so that the status should be 304. */
export function addEntityTag(exchange: Exchange, version: string, condition: Condition | null): boolean {
  const known = condition?.knownAs(version)
  addHeader(exchange, 'etag', formatEntityTag(known ?? version))
  return known !== undefined
}
