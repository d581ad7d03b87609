import { hash } from 'node:crypto'
import type { Static } from 'typebox'
import { type EventDescription, type NewEvent, updatedEvent } from '../events/event.ts'
import { type Form, form, optional } from '../forms/form.ts'
import { assignedFields, idSchema, orNull, Type, timeSchema, timestamps } from '../forms/json-schema.ts'
import { boolean } from '../forms/rules.ts'
import { shownVersion } from '../lib/record-version.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { parseRules, type RedirectRule, ruleDestinations } from '../rules/rule.ts'
import type { Versioned } from '../storage/records.ts'
import type { Row } from '../storage/schema.ts'
import { Refusal, type Violation } from '../violations.ts'
import { flags, linkFields, ofEachField, type ShownName, shownName } from './fields.ts'
import { permanentStatuses, statuses, statusOf } from './link.ts'

const { domain_id, space_id, alias, url, title, ...settings } = ofEachField('shown')
type Settings = typeof settings

/** A link in a response. */
export const linkSchema = Type.Object(
  {
    id: idSchema,
    domain_id,
    space_id,
    alias,
    short_url: Type.String({ format: 'uri', description: 'The short URL that visitors open.' }),
    url,
    title,
    status: Type.Enum([...statuses], {
      description:
        'The first that applies: `disabled`, `expired` (the period has ended or the click limit is reached), `scheduled`, `active`.',
    }),
    ...(Object.fromEntries(Object.entries(settings).map(([name, schema]) => [shownName(name), schema])) as {
      readonly [Name in keyof Settings as ShownName<Name>]: Settings[Name]
    }),
    legacy: Type.Boolean({
      description: 'True if an import stored the alias, although the rule of aliases rejects it.',
    }),
    clicks: Type.Integer({ minimum: 0, description: 'Human clicks, without bots and previews.' }),
    last_clicked_at: orNull(timeSchema('The time of the last human click.')),
    ...timestamps,
  },
  { $id: 'Link', additionalProperties: false },
)

export type Link = Static<typeof linkSchema>

/** A stored link: a column for each field, or the columns from which `linkOf` computes it. */
export type LinkRow = Readonly<
  Pick<Row<'links'>, Exclude<keyof Row<'links'> & keyof Link, 'status'> | 'redirect_password'> &
    Pick<Row<'link_clicks'>, 'clicks' | 'last_clicked_ms'> & {
      /** Null while the domain is being removed. */
      domain_name: string | null
      /** Names with commas between them. */
      tags: string | null
    }
> & {
  /** The further addresses as JSON, if they were read. */
  readonly addresses?: string | null
}

/** The fields that a row has as 0 or 1. */
const shownFlags = [...flags, 'legacy']

/** The columns from which `linkOf` computes fields. Other fields have the value of the column with their name. */
const columnsOfFields: Readonly<Record<string, readonly string[]>> = {
  short_url: ['domain_name'],
  status: [],
  has_redirect_password: ['redirect_password'],
  rules: ['rules'],
  tags: ['tags'],
  last_clicked_at: ['last_clicked_ms'],
  ...Object.fromEntries(shownFlags.map((flag) => [flag, [flag]])),
}

const shownFields = Object.keys(linkSchema.properties)

/** The columns of a `LinkRow`. */
export const linkColumns = shownFields.flatMap((field) => columnsOfFields[field] ?? [field]) as (keyof LinkRow)[]

/** Returns the names of a link's tags. */
export function tagsOf({ tags }: Pick<LinkRow, 'tags'>): string[] {
  return tags?.split(',') ?? []
}

const emptyLink = Object.fromEntries(shownFields.map((field) => [field, null])) as unknown as Link
const unchanged = shownFields.filter((field) => !(field in columnsOfFields)) as (keyof Link & keyof LinkRow)[]

/** Returns the link for a response at the time `now`. */
export function linkOf(row: LinkRow, shortUrl: ShortUrl, now = new Date().toISOString()): Link {
  // Half as long as adding the fields one by one, for each link of a list.
  const link = { ...emptyLink }
  const values = link as Record<string, unknown>
  for (const field of unchanged) values[field] = row[field]
  for (const flag of shownFlags) values[flag] = row[flag as keyof LinkRow] === 1
  link.short_url = shortUrl(row.domain_name ?? '', row.alias)
  link.status = statusOf(link, now)
  link.has_redirect_password = row.redirect_password !== null
  link.rules = parseRules(row)
  link.tags = tagsOf(row)
  link.last_clicked_at = row.last_clicked_ms === null ? null : new Date(row.last_clicked_ms).toISOString()
  return link
}

/** Returns a value of a link as forms and tables have it: rules are JSON, and other lists have commas. Null for no value. */
export function textOf(value: Link[keyof Link]): string | null {
  if (value === null || (Array.isArray(value) && value.length === 0)) return null
  return Array.isArray(value) && typeof value[0] === 'object' ? JSON.stringify(value) : String(value)
}

/** Returns the link for a response, with a version that changes with everything shown, such as clicks and status. */
export function shownLink({ record, version }: Versioned<LinkRow>, shortUrl: ShortUrl): Versioned<Link> {
  const link = linkOf(record, shortUrl)
  return { record: link, version: shownVersion(version, hash('sha1', JSON.stringify(link), 'base64url').slice(0, 12)) }
}

const fields = Object.keys(linkFields) as (keyof typeof linkFields)[]

/** Describes the events of links. */
export const linkEvents: EventDescription<LinkRow> = {
  record: 'link',
  nameOf: ({ domain_name, alias }) => `${domain_name}/${alias}`,
  valuesOf: (row) => {
    const values: Record<string, unknown> = {}
    // Half as long as with `Object.fromEntries`, for each link of a batch.
    for (const field of fields) values[field] = row[field]
    for (const flag of flags) values[flag] = values[flag] === 1
    values.rules = row.rules === null ? null : parseRules(row)
    values.tags = tagsOf(row)
    if (row.addresses) values.addresses = JSON.parse(row.addresses)
    return values
  },
  secrets: ['redirect_password'],
}

/** Returns the event of a link whose further addresses have changed; null if none has. */
export function addressesEvent(
  link: LinkRow,
  { before, after }: Readonly<Record<'before' | 'after', string | null>>,
): NewEvent | null {
  return updatedEvent(linkEvents, { ...link, addresses: before }, { ...link, addresses: after })
}

const assigned = [
  ...assignedFields,
  ...['short_url', 'status', 'has_redirect_password', 'legacy', 'clicks', 'last_clicked_at'],
] as const

/** Values that depend on each other. */
interface Dependent {
  readonly active_period_start_at?: string | null | undefined
  readonly active_period_end_at?: string | null | undefined
  readonly redirect_status?: number | undefined
  readonly rules?: string | null | undefined
}

/** Returns the violations of values that contradict each other: a period that ends before it starts, and a permanent redirect with rules. */
export function conflictsIn({
  active_period_start_at: from,
  active_period_end_at: to,
  ...values
}: Dependent): Violation[] {
  const found: Violation[] = []
  const start = 'active_period_start_at'
  if (from && to && from >= to) {
    found.push(
      new Refusal('not_after_start', { start: [start], startLabel: linkLabels[start] }).at('active_period_end_at'),
    )
  }
  const { redirect_status: status = 302, rules } = values
  if (rules && permanentStatuses.includes(status)) {
    found.push(new Refusal('not_allowed.with_rules', { status }).at('redirect_status'))
  }
  return found
}

export const storeLink = form(ofEachField('store'), assigned)

const keepAddress = optional(
  boolean(
    Type.Boolean({
      description: 'If true and the alias changes, the old one becomes a further address of the link.',
    }),
  ),
  undefined,
)

/** Separate from `storeLink`, because omitted fields stay unchanged and have no default. */
export const updateLink = form({ ...ofEachField('change'), keep_address: keepAddress }, assigned)

/** The field labels on pages and in error messages. */
export const linkLabels = ofEachField('label')

type ValuesOf<F> = F extends Form<infer Values> ? Values : never

/** The checked fields of a request that stores a link. */
export type NewLink = ValuesOf<typeof storeLink>

/** The fields that the owner of a link sets. The password is a hash. */
export type LinkValues = Readonly<Omit<NewLink, 'domain_id' | 'alias'>>

/** Changed values. Undefined values stay unchanged. The password is a hash. */
export type LinkChange = Readonly<Partial<Omit<ValuesOf<typeof updateLink>, 'domain_id'>>>

/** A destination of a link, with its field's name. */
interface Destination {
  readonly field: string
  readonly url: string
}

/** Values with destinations. The rules are a list, or as they are stored. */
export interface WithDestinations {
  readonly url?: string | undefined
  readonly rules?: readonly RedirectRule[] | string | null | undefined
}

/** Returns the destinations in these values: the link's URL, and those of its rules. */
export function destinationsIn({ url, rules }: WithDestinations): Destination[] {
  const list = typeof rules === 'string' ? parseRules({ rules }) : (rules ?? [])
  return [
    ...(url === undefined ? [] : [{ field: 'url', url }]),
    ...ruleDestinations(list).map(({ place, url }) => ({ field: `rules.${place}`, url })),
  ]
}
