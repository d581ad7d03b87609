/** The fields of links that their owners set. Forms, responses, labels, the history, files and pages derive from this table. */

import type { TUnsafe } from 'typebox'
import { change, clearable, fixed, list, optional, type Rule, required } from '../forms/form.ts'
import { orNull, type TSchema, Type, timeSchema } from '../forms/json-schema.ts'
import {
  boolean,
  boundedText,
  destinationUrl,
  integer,
  oneOf,
  parseTime,
  tagName,
  urlOrNull,
  webUrl,
} from '../forms/rules.ts'
import { maxAliasLength, maxLegacyLength, parseAlias } from '../names/alias.ts'
import { maxTargetLength } from '../names/web-url.ts'
import { rulesField, rulesSchema } from '../rules/form.ts'
import { maxClicksLimit, maxPasswordLength, maxTags, maxTitleLength, parsePassword, redirectStatuses } from './link.ts'

/** Determines the control in forms, and how columns and spreadsheets write values. */
type Kind = 'text' | 'lines' | 'url' | 'time' | 'number' | 'flag' | 'choice' | 'names' | 'password' | 'rules'

/** Returns a field that is null if it is empty. `shown` is its schema in responses. */
function nullable<T>(label: string, kind: Kind, rule: Rule<T>, shown: TSchema = orNull(rule.schema)) {
  return { label, kind, store: optional(rule, null), change: clearable(rule), shown: shown as TUnsafe<T | null> }
}

/** Returns a field that is `fallback` in new links without it, and cannot be cleared. */
function withDefault<T, const Fallback>(label: string, kind: Kind, rule: Rule<T>, fallback: Fallback) {
  return { label, kind, store: optional(rule, fallback), change: change(rule), shown: rule.schema as TUnsafe<T> }
}

const flag = (label: string, description: string) =>
  withDefault(label, 'flag', boolean(Type.Boolean({ description })), false)

function time(label: string, description: string) {
  const schema = Type.String({ description: `${description} RFC 3339, or \`YYYY-MM-DD HH:MM\` in UTC.` })
  return nullable(label, 'time', { schema, parse: parseTime }, orNull(timeSchema(description)))
}

/** Returns the rule for the id of another record. */
export const reference = (description: string): Rule<number> => ({ ...integer({ description }), number: true })

const aliasSchema = (maxLength: number): TSchema =>
  Type.String({
    minLength: 1,
    maxLength,
    description: 'The path of the short URL, unique within its domain. Case-insensitive unless `exact` is true.',
  })

const url = destinationUrl(
  'The destination: an absolute http or https URL with at most 8,192 characters, counted in percent-encoding.',
  maxTargetLength,
)
const expiration =
  'The destination after the link has expired. Without it, visitors are redirected to the not-found URL of the domain, or see the expired page.'
const limit = integer({
  maximum: maxClicksLimit,
  description:
    'The number of human clicks after which the link expires. Bots, previews and visits without a user agent see a preview page and use no clicks.',
})
const redirect =
  'The redirect status: 302 and 307 are temporary, 301 and 308 permanent. With 307 and 308, every method redirects.'
const tags = {
  most: maxTags,
  description: 'The names of the tags, sorted. A name without a tag becomes a tag, which needs the scope `tags:write`.',
}
const noTags: readonly string[] = []

/** `store` and `change` parse the field in requests that store and change a link. `shown` is its schema in responses. */
export const linkFields = {
  url: {
    label: 'Destination',
    kind: 'url',
    store: required(url),
    change: change(url),
    shown: url.schema as TUnsafe<string>,
  },
  domain_id: {
    label: 'Domain',
    kind: 'choice',
    store: optional(reference('The domain of the link. Default: your oldest domain.'), null),
    change: fixed(
      { ...reference('Cannot be changed. The current id may be sent.').schema, readOnly: true },
      { number: true },
    ),
    shown: reference('The domain of the link.').schema as TUnsafe<number>,
  },
  alias: {
    ...withDefault('Alias', 'text', { schema: aliasSchema(maxAliasLength), parse: parseAlias }, null),
    shown: aliasSchema(maxLegacyLength) as TUnsafe<string>,
  },
  space_id: nullable('Space', 'choice', reference('The space of the link.')),
  title: nullable('Title', 'text', boundedText(maxTitleLength, 'A label for the link.')),
  disabled: flag('Disabled', 'If true, visitors get the same response as for an unknown alias.'),
  active_period_start_at: time('Starts working on', 'The link works from this time.'),
  active_period_end_at: time('Stops working on', 'The link expires at this time.'),
  clicks_limit: nullable('Click limit', 'number', { ...limit, number: true }),
  expiration_url: nullable('Destination after it expires', 'url', webUrl(expiration), urlOrNull(expiration)),
  redirect_password: {
    ...nullable('Password', 'password', {
      schema: Type.String({
        maxLength: maxPasswordLength,
        writeOnly: true,
        description: 'The password that visitors have to enter. Only its hash is stored, and no response contains it.',
      }),
      parse: parsePassword,
    }),
    shown: Type.Boolean({ description: 'True if visitors have to enter a password.' }),
  },
  forward_query: flag(
    'Forward the query string',
    "If true, the visitor's query is appended to the destination, unless the result would be longer than 16 KiB.",
  ),
  redirect_status: withDefault(
    'Redirect status',
    'choice',
    { ...oneOf(redirectStatuses, redirect), number: true },
    302,
  ),
  rules: {
    label: 'Rules',
    kind: 'rules',
    store: rulesField(null),
    change: rulesField(undefined),
    shown: rulesSchema,
  },
  tags: {
    label: 'Tags',
    kind: 'names',
    store: list(tagName, tags, noTags),
    change: list(tagName, tags, undefined),
    shown: Type.Array(Type.String(), { maxItems: maxTags, description: tags.description }),
  },
  notes: nullable('Notes', 'lines', {
    ...boundedText(2_000, 'Plain text, which may have several lines.'),
    multiline: true,
  }),
  archived: flag('Archived', 'If true, lists omit the link by default. It keeps redirecting and counting.'),
  exact: flag(
    'Exact spelling',
    'If true, the short URL matches only this spelling of the alias, by code point in NFC. It takes precedence over an address that ignores case.',
  ),
} as const

type Fields = typeof linkFields

/** Returns one property of all fields, by their names. */
export function ofEachField<Property extends 'label' | 'kind' | 'store' | 'change' | 'shown'>(property: Property) {
  const entries = Object.entries(linkFields).map(([name, field]) => [name, field[property]])
  return Object.fromEntries(entries) as { readonly [Name in keyof Fields]: Fields[Name][Property] }
}

/** The fields that a row has as 0 or 1. */
export const flags = Object.keys(linkFields).filter((name) => linkFields[name as keyof Fields].kind === 'flag')

/** Responses contain whether a link has a password instead of the password. */
export type ShownName<Name> = Name extends 'redirect_password' ? 'has_redirect_password' : Name

/** Returns the field's name in responses. */
export function shownName<Name extends string>(field: Name): ShownName<Name> {
  return (field === 'redirect_password' ? 'has_redirect_password' : field) as ShownName<Name>
}
