import type { Static } from 'typebox'
import { operationsOf } from '../api/resource-operations.ts'
import { Refusal, type Violation } from '../errors.ts'
import { change, clearable, fixed, form, optional, type Rule, required } from '../forms/form.ts'
import { assignedFields, idSchema, Type, timeSchema, timestamps } from '../forms/json-schema.ts'
import { listQueryOf } from '../forms/list-query.ts'
import { integerUpTo, notAllowed, oneOf, urlOrNull, urlSchema, webUrl } from '../forms/rules.ts'
import { resources } from '../resources.ts'
import {
  maxAliasLength,
  maxClicksLimit,
  maxPasswordLength,
  maxTargetLength,
  maxTitleLength,
  parseAlias,
  parsePassword,
  parseTime,
  parseTitle,
  redirectStatuses,
  statuses,
} from './link.ts'

/** The id of a record that a link refers to. */
const idOf = (description: string) => Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description })

const orNull = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()])

const target = 'Where the link leads: an absolute http or https URL.'
const expiration = 'Where visitors are sent once the link has expired; without it, to the not-found URL of the domain.'
const start = 'The link works from this time on.'
const end = 'The link expires at this time.'

const aliasSchema = Type.String({
  minLength: 1,
  maxLength: maxAliasLength,
  description: 'The path of the short URL: unique within its domain, whatever its case.',
})
const titleSchema = Type.String({ maxLength: maxTitleLength, description: 'What the link is for.' })
const limitSchema = Type.Integer({
  minimum: 1,
  maximum: maxClicksLimit,
  description:
    'The number of people’s clicks after which the link expires. Bots and previews see where it leads instead, and take none.',
})
const redirectSchema = Type.Enum([...redirectStatuses], {
  description: 'The status of the redirect: 302 and 307 for now, 301 and 308 for good.',
})
const flag = (description: string) => Type.Boolean({ description })
const disabledSchema = flag('Whether visitors are turned away, as if there were no such link.')
const forwardSchema = flag('Whether the query of a visit is appended to the target.')

/** A link as it is answered. */
export const linkSchema = Type.Object(
  {
    id: idSchema,
    domain_id: idOf('The domain that the link is on.'),
    space_id: orNull(idOf('The space that the link is in.')),
    alias: aliasSchema,
    short_url: Type.String({ format: 'uri', description: 'What visitors open.' }),
    url: urlSchema(target, maxTargetLength),
    title: orNull(titleSchema),
    status: Type.Enum([...statuses], {
      description:
        '`disabled`; else `expired`, when its period is over or its limit is reached; else `scheduled`; else `active`.',
    }),
    disabled: disabledSchema,
    active_period_start_at: orNull(timeSchema(start)),
    active_period_end_at: orNull(timeSchema(end)),
    clicks_limit: orNull(limitSchema),
    expiration_url: urlOrNull(expiration),
    has_redirect_password: flag('Whether visitors are asked for a password.'),
    forward_query: forwardSchema,
    redirect_status: redirectSchema,
    clicks: Type.Integer({ minimum: 0, description: 'How often people have followed the link; no bots, no previews.' }),
    last_clicked_at: orNull(timeSchema('When a person last followed the link.')),
    ...timestamps,
  },
  { $id: 'Link', additionalProperties: false },
)

export type Link = Static<typeof linkSchema>

const reference = (description: string): Rule<number> => ({
  schema: idOf(description),
  number: true,
  parse: (text, label) => integerUpTo(Number.MAX_SAFE_INTEGER, text, label),
})
const alias: Rule<string> = { schema: aliasSchema, parse: parseAlias }
const title: Rule<string> = { schema: titleSchema, parse: parseTitle }
const time = (description: string): Rule<string> => ({
  schema: Type.String({ description: `${description} RFC 3339, or \`YYYY-MM-DD HH:MM\` in UTC.` }),
  parse: parseTime,
})
const clicksLimit: Rule<number> = {
  schema: limitSchema,
  number: true,
  parse: (text, label) => integerUpTo(maxClicksLimit, text, label),
}
const password: Rule<string> = {
  schema: Type.String({
    maxLength: maxPasswordLength,
    writeOnly: true,
    description: 'What visitors are asked for. It is kept as a hash and never shown.',
  }),
  parse: parsePassword,
}
const redirectStatus: Rule<(typeof redirectStatuses)[number]> = {
  schema: redirectSchema,
  number: true,
  parse: (text, label) =>
    redirectStatuses.find((status) => String(status) === text) ?? notAllowed(label, redirectStatuses),
}
const boolean = (schema: typeof disabledSchema): Rule<boolean> => ({
  schema,
  number: true,
  boolean: true,
  parse: (text, label) => {
    if (text === 'true' || text === '1') return true
    if (text === 'false' || text === '0') return false
    return new Refusal('not_a_boolean', `The ${label} must be true or false.`)
  },
})

const assigned = [
  ...assignedFields,
  ...['short_url', 'status', 'has_redirect_password', 'clicks', 'last_clicked_at'],
] as const

export interface Period {
  readonly active_period_start_at?: string | null | undefined
  readonly active_period_end_at?: string | null | undefined
}

/** What is wrong with a period whose bounds are valid one by one. */
export function periodFaults({ active_period_start_at: from, active_period_end_at: to }: Period): Violation[] {
  if (!from || !to || from < to) return []
  const message = 'The active_period_end_at must be after the active_period_start_at.'
  return [{ field: 'active_period_end_at', code: 'not_after_start', message }]
}

export const storeLink = form(
  {
    url: required(webUrl(target, maxTargetLength)),
    domain_id: optional(reference('The domain that the link is on; your oldest if it is left out.'), null),
    alias: optional(alias, null),
    space_id: optional(reference('The space that the link is in.'), null),
    title: optional(title, null),
    disabled: optional(boolean(disabledSchema), false),
    active_period_start_at: optional(time(start), null),
    active_period_end_at: optional(time(end), null),
    clicks_limit: optional(clicksLimit, null),
    expiration_url: optional(webUrl(expiration), null),
    redirect_password: optional(password, null),
    forward_query: optional(boolean(forwardSchema), false),
    redirect_status: optional(redirectStatus, 302),
  },
  assigned,
)

/** Written out, not derived from `storeLink`: what is absent must stay as it is. */
export const updateLink = form(
  {
    url: change(webUrl(target, maxTargetLength)),
    domain_id: fixed(
      { ...idOf('Cannot be changed; the present one may be sent back.'), readOnly: true },
      { number: true },
    ),
    alias: change(alias),
    space_id: clearable(reference('The space that the link is in.')),
    title: clearable(title),
    disabled: change(boolean(disabledSchema)),
    active_period_start_at: clearable(time(start)),
    active_period_end_at: clearable(time(end)),
    clicks_limit: clearable(clicksLimit),
    expiration_url: clearable(webUrl(expiration)),
    redirect_password: clearable(password),
    forward_query: change(boolean(forwardSchema)),
    redirect_status: change(redirectStatus),
  },
  assigned,
)

const spaceFilter: Rule<number | null> = {
  schema: Type.Integer({ minimum: 0, description: 'Only links in this space; 0: only links without a space.' }),
  parse: (text, label) => (text === '0' ? null : integerUpTo(Number.MAX_SAFE_INTEGER, text, label)),
}
const domainFilter = reference('Only links on this domain.')
export const listLinksQuery = listQueryOf(resources.links, {
  domain_id: optional(domainFilter, undefined),
  space_id: optional(spaceFilter, undefined),
  status: optional(oneOf(statuses, 'Only links in this state.'), undefined),
})

export const linkOperations = operationsOf('links', {
  description: 'Short links: each leads from an alias on a domain to a URL.',
  record: linkSchema,
  listQuery: listLinksQuery,
  store: {
    form: storeLink,
    failures: ['alias_taken'],
    description: 'Without `domain_id`, the link goes on your oldest domain; without `alias`, Waymark makes one up.',
    example: { url: 'https://acme.com/summer?ref=short', alias: 'summer', title: 'Summer sale' },
    refused: { url: 'acme.com', redirect_status: '303' },
  },
  update: {
    form: updateLink,
    failures: ['alias_taken'],
    description:
      'Visitors see the change at once, and within a second at every other node. The domain cannot be changed.',
    example: { url: 'https://acme.com/winter', active_period_end_at: '2026-12-31 23:59' },
  },
  example: {
    id: 1,
    domain_id: 1,
    space_id: null,
    alias: 'summer',
    short_url: 'https://go.acme.com/summer',
    url: 'https://acme.com/summer?ref=short',
    title: 'Summer sale',
    status: 'active',
    disabled: false,
    active_period_start_at: null,
    active_period_end_at: null,
    clicks_limit: null,
    expiration_url: null,
    has_redirect_password: false,
    forward_query: false,
    redirect_status: 302,
    clicks: 0,
    last_clicked_at: null,
    created_at: '2026-11-20T12:00:00.000Z',
    updated_at: '2026-11-20T12:00:00.000Z',
  },
})
