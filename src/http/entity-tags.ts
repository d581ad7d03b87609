/**
 * Entity tags (RFC 9110 §8.8.3), and the header fields that list them.
 */

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
