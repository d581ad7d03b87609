/**
 * Conditional requests (RFC 9110 §13) and entity tags (§8.8.3): which state of a resource a client has, and which it must
 * not overwrite.
 */
import { Failure, preconditionFailed } from '../errors.ts'
import type { Exchange } from './exchange.ts'
import { addHeader, gzipSuffix } from './response.ts'

/** What a header demands: any state at all (`*`), or one of those that it lists. */
export type EntityTags = '*' | readonly EntityTag[]

export interface EntityTag {
  readonly isWeak: boolean
  /** The text between the quotes. */
  readonly opaque: string
}

/** What If-Match and If-None-Match demand. */
export class Condition {
  readonly #match: EntityTags | null
  readonly #noneMatch: EntityTags | null

  constructor(match: EntityTags | null, noneMatch: EntityTags | null) {
    this.#match = match
    this.#noneMatch = noneMatch
  }

  /** For a request that changes something of this version. Throws `precondition_failed` if it may not. */
  check(version: string): void {
    this.#checkMatch(version)
    if (this.#noneMatch === null) return
    const tags = this.#noneMatch === '*' ? '*' : this.#noneMatch.map(({ opaque }) => strong(versionIn(opaque)))
    if (matchesWeakly(tags, versionIn(version)) !== undefined) throw preconditionFailed(version)
  }

  /**
   * For a request that shows something of this version: the tag, without quotes, under which the client has it; undefined
   * if it does not. Throws `precondition_failed` as §13.2.2 orders.
   */
  knownAs(version: string): string | undefined {
    this.#checkMatch(version)
    return this.#noneMatch === null ? undefined : matchesWeakly(this.#noneMatch, version)
  }

  /** If-Match protects what clients edit, so what else is shown may have changed. */
  #checkMatch(version: string): void {
    if (this.#match === null) return
    const edited = (tag: EntityTag) => ({ ...tag, opaque: versionIn(tag.opaque) })
    const tags = this.#match === '*' ? '*' : this.#match.map(edited)
    if (matchesStrongly(tags, versionIn(version)) === undefined) throw preconditionFailed(version)
  }
}

/**
 * The condition of a request; null if it has none. Throws `malformed_request`: to ignore a condition that cannot be read
 * would overwrite what it was meant to protect.
 */
export function conditionOf({ headers }: Pick<Exchange, 'headers'>): Condition | null {
  const match = headers['if-match']
  const noneMatch = headers['if-none-match']
  if (match === undefined && noneMatch === undefined) return null
  return new Condition(tagsOf('If-Match', match), tagsOf('If-None-Match', noneMatch))
}

/** Adds the entity tag of what a GET shows. Returns whether the client has that version: 304 answers it then. */
export function addEntityTag(exchange: Exchange, version: string, condition: Condition | null): boolean {
  const known = condition?.knownAs(version)
  addHeader(exchange, 'etag', entityTagOf(known ?? version))
  return known !== undefined
}

/**
 * The version of what a record shows beside what can be edited, such as its clicks. `shown` tells one state of it from any
 * other; it holds no tilde.
 */
export function shownVersion(version: string, shown: string): string {
  return `${version}${shownMark}${shown}`
}

const shownMark = '~'

/** The version of what can be edited. */
function versionIn(opaque: string): string {
  const at = opaque.indexOf(shownMark)
  return at < 0 ? opaque : opaque.slice(0, at)
}

function strong(opaque: string): EntityTag {
  return { isWeak: false, opaque }
}

/** The strong tag of a version. */
export function entityTagOf(version: string): string {
  return `"${version}"`
}

function tagsOf(name: string, value: string | undefined): EntityTags | null {
  if (value === undefined) return null
  const tags = parseEntityTags(value)
  if (tags !== null) return tags
  throw new Failure(
    'malformed_request',
    `The ${name} header must be an entity tag in double quotes, as in the ETag header, or a list of them, or *.`,
  )
}

/**
 * The value of an If-Match or If-None-Match header: `*`, or a list in which empty elements are ignored (§5.6.1.2). Null
 * for anything else, and for a list without a tag, which is what a variable that was never set leaves.
 */
export function parseEntityTags(value: string): EntityTags | null {
  if (value === '*') return '*'
  if (!list.test(value)) return null
  const tags = [...value.matchAll(tag)].map(([, weak, opaque = '']) => ({ isWeak: weak !== undefined, opaque }))
  return tags.length === 0 ? null : tags
}

/** §8.8.3.2: the tag that matches; a weak one never does. */
export function matchesStrongly(tags: EntityTags, version: string): string | undefined {
  return matchesWeakly(tags === '*' ? tags : tags.filter(({ isWeak }) => !isWeak), version)
}

/** §8.8.3.2: the tag that matches, weak or not. The compressed and the plain representation both stand for a version. */
export function matchesWeakly(tags: EntityTags, version: string): string | undefined {
  if (tags === '*') return version
  return tags.find(({ opaque }) => opaque === version || opaque === version + gzipSuffix)?.opaque
}

const tag = /(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/g
const list = /^[\t ,]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*(?:,[\t ,]*|$))*$/
