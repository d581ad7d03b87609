/** How a list of links is filtered. */
import { optional, type Rule } from '../forms/form.ts'
import { Type } from '../forms/json-schema.ts'
import { createListQuery } from '../forms/list-query.ts'
import { boundedText, oneOf, parseInteger } from '../forms/rules.ts'
import { resources } from '../resources.ts'
import { Refusal } from '../violations.ts'
import { reference } from './fields.ts'
import { maxTags, statuses } from './link.ts'

const spaceFilter: Rule<number | null> = {
  schema: Type.Integer({ minimum: 0, description: 'Only links in this space. 0 means links without a space.' }),
  parse: (text) => (text === '0' ? null : parseInteger(1, Number.MAX_SAFE_INTEGER, text)),
}

const tagFilter: Rule<readonly number[]> = {
  schema: Type.String({
    pattern: '^[1-9][0-9]{0,15}(,[1-9][0-9]{0,15}){0,19}$',
    description: 'Only links that have these tags: an id, or up to 20 ids with commas between them.',
  }),
  parse: (text) => {
    const ids = text.split(',').map((id) => parseInteger(1, Number.MAX_SAFE_INTEGER, id.trim()))
    const refusal = ids.find((id) => id instanceof Refusal)
    if (refusal instanceof Refusal) return refusal
    const distinct = [...new Set(ids as number[])]
    return distinct.length > maxTags ? new Refusal('too_many', { most: maxTags }) : distinct
  },
}

/** The filters of lists of links. */
export const linkFilters = {
  domain_id: optional(reference('Only links on this domain.'), undefined),
  space_id: optional(spaceFilter, undefined),
  status: optional(oneOf(statuses, 'Only links in this state.'), undefined),
  tag_id: optional(tagFilter, undefined),
  archived: optional(
    oneOf(['false', 'true', 'any'], 'Whether archived links are listed: not, only these, or with the others.'),
    'false',
  ),
}

const aliasFilter = boundedText(
  255,
  'Only links that visitors reach at this alias or short URL, which may be a further address. With `domain_id`, only at addresses on this domain.',
)

export const listLinksQuery = createListQuery(
  resources.links,
  { ...linkFilters, alias: optional(aliasFilter, undefined) },
  'In ascending order of `last_clicked_at`, links without clicks are first.',
)
