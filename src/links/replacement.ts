/** Text that is replaced in the destinations of links, such as a host or a campaign. */
import { form, optional, type Rule, required } from '../forms/form.ts'
import { Type } from '../forms/json-schema.ts'
import { oneOf } from '../forms/rules.ts'
import { parseBoundedText } from '../lib/text.ts'
import { schemeRefusal } from '../names/web-url.ts'
import type { Refusal } from '../violations.ts'
import { type LinkRules, loopViolations } from './actions.ts'
import { maxTargetLength } from './link.ts'
import { type LinkRow, updateLink } from './schema.ts'

/** Each part of a destination, between what precedes and what follows it. */
const parts = {
  all: /^()(.*)()$/s,
  host: /^([a-z][a-z\d+.-]*:\/\/)([^/?#]*)(.*)$/is,
  query: /^([^?#]*\?)([^#]*)(.*)$/s,
} as const

export const replacedParts = Object.keys(parts) as (keyof typeof parts)[]

export interface Replacement {
  readonly find: string
  /** Empty to remove the text. */
  readonly replace: string
  readonly part: keyof typeof parts
}

/** The most UTF-16 code units of a text that may become a valid destination when it is normalized. */
const longestText = 4 * maxTargetLength

const text: Rule<string> = {
  schema: Type.String({ maxLength: maxTargetLength }),
  parse: (text) => parseBoundedText(text, maxTargetLength),
}

/** For the dashboard. */
export const replacementForm = form<Replacement>({
  find: required(text),
  replace: optional(text, ''),
  part: optional(oneOf(replacedParts, 'The part in which text is replaced.'), 'all'),
})

/**
 * Returns the destination of a link with all occurrences replaced, or why a link must not have that destination. Returns
 * undefined if it stays the same.
 */
export function replacedUrl(
  { url, alias, domain_name }: Pick<LinkRow, 'url' | 'alias' | 'domain_name'>,
  { find, replace, part }: Replacement,
  { urlSchemes, shortUrl }: LinkRules,
): string | Refusal | undefined {
  const [, before = '', middle = '', after = ''] = parts[part].exec(url) ?? []
  if (!middle.includes(find)) return undefined
  // Thousands of occurrences would become 64 MB, so the rest of such a text is left out.
  const pieces = middle.split(find).slice(0, longestText / Math.max(1, replace.length) + 2)
  const checked = updateLink.fields.url.read(`${before}${pieces.join(replace)}${after}`)
  if (checked === url) return undefined
  if (typeof checked !== 'string') return checked
  const [loop] = loopViolations(checked, shortUrl(domain_name ?? '', alias))
  return schemeRefusal(checked, urlSchemes) ?? loop?.refusal ?? checked
}
