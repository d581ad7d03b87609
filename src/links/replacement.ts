/** Text that is replaced in the destinations of links, such as a host or a campaign. */

import { form, optional, type Rule, required } from '../forms/form.ts'
import { Type } from '../forms/json-schema.ts'
import { oneOf } from '../forms/rules.ts'
import { parseBoundedText } from '../lib/text.ts'
import { maxTargetLength } from '../names/web-url.ts'
import { parseRules, type RedirectRule } from '../rules/rule.ts'
import type { Violation } from '../violations.ts'
import { type LinkRules, loopViolations, withScheme } from './link-violations.ts'
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

/** The destinations of a link after a replacement. */
export type ReplacedDestinations = Pick<LinkRow, 'url' | 'rules'>

/**
 * Returns the destinations of a link with all occurrences replaced, or the first violation that the link would have. Returns
 * undefined if they stay the same. `further` are the short URLs of the link's other addresses.
 */
export function replacedDestinations(
  { url, rules, alias, domain_name }: ReplacedDestinations & Pick<LinkRow, 'alias' | 'domain_name'>,
  replacement: Replacement,
  { urlSchemes, shortUrl }: LinkRules,
  further: readonly string[] = [],
): ReplacedDestinations | Violation | undefined {
  const before = { url, rules }
  const sent = {
    url: replacedText(url, replacement),
    rules: parseRules(before).map((rule) => replacedRule(rule, replacement)),
  }
  // Stored destinations may break rules that are newer, so unchanged ones are not checked.
  const changed = [sent.url !== url && 'url', JSON.stringify(sent.rules) !== (rules ?? '[]') && 'rules'] as const
  const fields = Object.fromEntries(changed.flatMap((name) => (name ? [[name, sent[name]]] : [])))
  if (Object.keys(fields).length === 0) return undefined
  const { values, violations } = withScheme(updateLink.read(fields), { urlSchemes, shortUrl })
  const after = { url: values.url ?? url, rules: values.rules ?? rules }
  const loops = loopViolations(values, [shortUrl(domain_name ?? '', alias), ...further])
  return [...violations, ...loops][0] ?? (after.url === url && after.rules === rules ? undefined : after)
}

function replacedRule({ url, urls, ...rule }: RedirectRule, replacement: Replacement): RedirectRule {
  if (url !== undefined) return { ...rule, url: replacedText(url, replacement) }
  return { ...rule, urls: (urls ?? []).map((each) => ({ ...each, url: replacedText(each.url, replacement) })) }
}

function replacedText(url: string, { find, replace, part }: Replacement): string {
  const [, before = '', middle = '', after = ''] = parts[part].exec(url) ?? []
  if (!middle.includes(find)) return url
  // Thousands of occurrences would become 64 MB, so the rest of such a text is left out.
  const pieces = middle.split(find).slice(0, longestText / Math.max(1, replace.length) + 2)
  return `${before}${pieces.join(replace)}${after}`
}
