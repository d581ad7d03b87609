/**
 * Conditional requests (RFC 9110 §13): who has a record already, and who must not overwrite one unseen.
 */
import { Failure, preconditionFailed } from '../errors.ts'
import type { Precondition, Versioned } from '../storage/version.ts'
import { addHeader, send, sendJson } from './answer.ts'
import type { Exchange } from './exchange.ts'

/** What If-Match and If-None-Match demand of a record. */
export class Condition implements Precondition {
  readonly #match: EntityTags | null
  readonly #noneMatch: EntityTags | null

  constructor(match: EntityTags | null, noneMatch: EntityTags | null) {
    this.#match = match
    this.#noneMatch = noneMatch
  }

  /** For a request that changes the record. Throws `precondition_failed` when it may not. */
  check(version: string): void {
    if (this.isKnown(version)) throw preconditionFailed(version)
  }

  /** For a request that shows the record: whether the client has it. Throws `precondition_failed` as §13.2.2 orders. */
  isKnown(version: string): boolean {
    if (this.#match !== null && !matchesStrongly(this.#match, version)) throw preconditionFailed(version)
    return this.#noneMatch !== null && matchesWeakly(this.#noneMatch, version)
  }
}

/**
 * The condition of a request; null when it has none. Throws `malformed_request`: a condition that was ignored because it
 * cannot be read would overwrite what it was meant to protect.
 */
export function conditionOf({ headers }: Pick<Exchange, 'headers'>): Condition | null {
  const match = headers['if-match']
  const noneMatch = headers['if-none-match']
  if (match === undefined && noneMatch === undefined) return null
  return new Condition(tagsOf('If-Match', match), tagsOf('If-None-Match', noneMatch))
}

/** Sends the record with its tag; 304 and nothing but the tag when the client of a GET has it already. */
export function sendRecord<Row>(
  exchange: Exchange,
  { record, version }: Versioned<Row>,
  condition: Condition | null = null,
): void {
  const isKnown = condition?.isKnown(version)
  addHeader(exchange, 'etag', entityTagOf(version))
  if (isKnown) send(exchange, 304)
  else sendJson(exchange, 200, JSON.stringify({ data: record }))
}

function tagsOf(name: string, value: string | undefined): EntityTags | null {
  if (value === undefined) return null
  const tags = parseEntityTags(value)
  if (tags !== null) return tags
  throw new Failure(
    'malformed_request',
    `The ${name} header must be an entity tag as the ETag header has it, in double quotes, or a list of them, or *.`,
  )
}

/** What a header demands: any state at all (`*`), or one of those that it lists. */
export type EntityTags = '*' | readonly EntityTag[]

export interface EntityTag {
  readonly isWeak: boolean
  /** What stands between the quotes. */
  readonly opaque: string
}

/** The strong tag of a record's version. */
export function entityTagOf(version: string): string {
  return `"${version}"`
}

/**
 * The value of an If-Match or If-None-Match header: `*`, or a list in which empty elements are ignored (§5.6.1.2). Null
 * when it is neither, or names no tag: that is what a variable that was never set leaves.
 */
export function parseEntityTags(value: string): EntityTags | null {
  if (value === '*') return '*'
  if (!list.test(value)) return null
  const tags = [...value.matchAll(tag)].map(([, weak, opaque = '']) => ({ isWeak: weak !== undefined, opaque }))
  return tags.length === 0 ? null : tags
}

/** §8.8.3.2: a weak tag matches nothing. */
export function matchesStrongly(tags: EntityTags, version: string): boolean {
  return tags === '*' || tags.some(({ isWeak, opaque }) => !isWeak && opaque === version)
}

/** §8.8.3.2: whether a tag is weak makes no difference. */
export function matchesWeakly(tags: EntityTags, version: string): boolean {
  return tags === '*' || tags.some(({ opaque }) => opaque === version)
}

const tag = /(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/g
const list = /^[\t ,]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*(?:,[\t ,]*|$))*$/
