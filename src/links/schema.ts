import { hash } from 'node:crypto'
import type { Static } from 'typebox'
import { operationsOf } from '../api/operations.ts'
import {
  change,
  clearable,
  type Form,
  fixed,
  form,
  type LabelsOf,
  list,
  optional,
  type Rule,
  required,
} from '../forms/form.ts'
import { assignedFields, idSchema, Type, timeSchema, timestamps } from '../forms/json-schema.ts'
import { listQueryOf } from '../forms/list-query.ts'
import {
  boolean,
  destinationSchema,
  destinationUrl,
  integer,
  oneOf,
  parseInteger,
  tagName,
  urlOrNull,
  webUrl,
} from '../forms/rules.ts'
import { shownVersion } from '../lib/record-version.ts'
import { parseBoundedText } from '../lib/text.ts'
import { maxAliasLength, parseAlias } from '../names/alias.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { resources } from '../resources.ts'
import type { Versioned } from '../storage/records.ts'
import type { Row } from '../storage/schema.ts'
import { Refusal, type Violation } from '../violations.ts'
import {
  maxClicksLimit,
  maxPasswordLength,
  maxTags,
  maxTargetLength,
  maxTitleLength,
  parsePassword,
  parseTime,
  redirectStatuses,
  statuses,
  statusOf,
} from './link.ts'

/** Returns the schema of an id that a link refers to. */
const idOf = (description: string) => Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description })

const orNull = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()])

const target =
  'The destination: an absolute http or https URL with at most 8,192 characters, counted in percent-encoding.'
const expiration =
  'The destination after the link has expired. Without it, visitors are redirected to the not-found URL of the domain, or see the expired page.'
const start = 'The link works from this time.'
const end = 'The link expires at this time.'

const aliasSchema = Type.String({
  minLength: 1,
  maxLength: maxAliasLength,
  description: 'The path of the short URL, unique within its domain. Case-insensitive.',
})
const titleSchema = Type.String({ maxLength: maxTitleLength, description: 'A label for the link.' })
const limitSchema = Type.Integer({
  minimum: 1,
  maximum: maxClicksLimit,
  description:
    'The number of human clicks after which the link expires. Bots, previews and visits without a user agent see a preview page and use no clicks.',
})
const redirect =
  'The redirect status: 302 and 307 are temporary, 301 and 308 permanent. With 307 and 308, every method redirects.'
const tagsOptions = {
  most: maxTags,
  description: 'The names of the tags, sorted. A name without a tag becomes a tag, which needs the scope `tags:write`.',
}
const maxNotesLength = 2_000
const notesSchema = Type.String({ maxLength: maxNotesLength, description: 'Plain text, which may have several lines.' })
const flag = (description: string) => Type.Boolean({ description })
const disabledSchema = flag('If true, visitors get the same response as for an unknown alias.')
const archivedSchema = flag('If true, lists omit the link by default. It keeps redirecting and counting.')
const forwardSchema = flag(
  "If true, the visitor's query is appended to the destination, unless the result would be longer than 16 KiB.",
)

/** A link in a response. */
export const linkSchema = Type.Object(
  {
    id: idSchema,
    domain_id: idOf('The domain of the link.'),
    space_id: orNull(idOf('The space of the link.')),
    alias: aliasSchema,
    short_url: Type.String({ format: 'uri', description: 'The short URL that visitors open.' }),
    url: destinationSchema(target, maxTargetLength),
    title: orNull(titleSchema),
    status: Type.Enum([...statuses], {
      description:
        'The first that applies: `disabled`, `expired` (the period has ended or the click limit is reached), `scheduled`, `active`.',
    }),
    disabled: disabledSchema,
    active_period_start_at: orNull(timeSchema(start)),
    active_period_end_at: orNull(timeSchema(end)),
    clicks_limit: orNull(limitSchema),
    expiration_url: urlOrNull(expiration),
    has_redirect_password: flag('True if visitors have to enter a password.'),
    forward_query: forwardSchema,
    redirect_status: Type.Enum([...redirectStatuses], { description: redirect }),
    tags: Type.Array(Type.String(), { maxItems: maxTags, description: tagsOptions.description }),
    notes: orNull(notesSchema),
    archived: archivedSchema,
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
>

/** Columns for fields without a column of the same name. */
const columnsOfFields: Readonly<Record<string, readonly string[]>> = {
  short_url: ['domain_name'],
  status: [],
  has_redirect_password: ['redirect_password'],
  last_clicked_at: ['last_clicked_ms'],
}

/** The columns of a `LinkRow`. */
export const linkColumns = Object.keys(linkSchema.properties).flatMap(
  (field) => columnsOfFields[field] ?? [field],
) as readonly (keyof LinkRow)[]

/** Returns the names of a link's tags. */
export function tagsOf({ tags }: Pick<LinkRow, 'tags'>): string[] {
  return tags?.split(',') ?? []
}

/** Returns the link for a response at the time `now`. */
export function linkOf(row: LinkRow, shortUrl: ShortUrl, now = new Date().toISOString()): Link {
  const lifetime = { ...row, disabled: row.disabled === 1 }
  return {
    id: row.id,
    domain_id: row.domain_id,
    space_id: row.space_id,
    alias: row.alias,
    short_url: shortUrl(row.domain_name ?? '', row.alias),
    url: row.url,
    title: row.title,
    status: statusOf(lifetime, now),
    disabled: lifetime.disabled,
    active_period_start_at: row.active_period_start_at,
    active_period_end_at: row.active_period_end_at,
    clicks_limit: row.clicks_limit,
    expiration_url: row.expiration_url,
    has_redirect_password: row.redirect_password !== null,
    forward_query: row.forward_query === 1,
    redirect_status: row.redirect_status as Link['redirect_status'],
    tags: tagsOf(row),
    notes: row.notes,
    archived: row.archived === 1,
    clicks: row.clicks,
    last_clicked_at: row.last_clicked_ms === null ? null : new Date(row.last_clicked_ms).toISOString(),
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}

/** Returns the link for a response, with a version that changes with everything shown, such as clicks and status. */
export function shownLink({ record, version }: Versioned<LinkRow>, shortUrl: ShortUrl): Versioned<Link> {
  const link = linkOf(record, shortUrl)
  return { record: link, version: shownVersion(version, hash('sha1', JSON.stringify(link), 'base64url').slice(0, 12)) }
}

const reference = (description: string): Rule<number> => ({ ...integer({ description }), number: true })
const alias: Rule<string> = { schema: aliasSchema, parse: parseAlias }
const title: Rule<string> = {
  schema: titleSchema,
  parse: (text) => parseBoundedText(text, maxTitleLength),
}
const notes: Rule<string> = {
  schema: notesSchema,
  multiline: true,
  parse: (text) => parseBoundedText(text, maxNotesLength),
}
const time = (description: string): Rule<string> => ({
  schema: Type.String({ description: `${description} RFC 3339, or \`YYYY-MM-DD HH:MM\` in UTC.` }),
  parse: parseTime,
})
const clicksLimit: Rule<number> = {
  schema: limitSchema,
  number: true,
  parse: (text) => parseInteger(1, maxClicksLimit, text),
}
const password: Rule<string> = {
  schema: Type.String({
    maxLength: maxPasswordLength,
    writeOnly: true,
    description: 'The password that visitors have to enter. Only its hash is stored, and no response contains it.',
  }),
  parse: parsePassword,
}
const redirectStatus = { ...oneOf(redirectStatuses, redirect), number: true }
const assigned = [
  ...assignedFields,
  ...['short_url', 'status', 'has_redirect_password', 'clicks', 'last_clicked_at'],
] as const

export interface Period {
  readonly active_period_start_at?: string | null | undefined
  readonly active_period_end_at?: string | null | undefined
}

/** Returns a violation if the period ends before it starts. */
export function periodViolations({ active_period_start_at: from, active_period_end_at: to }: Period): Violation[] {
  if (!from || !to || from < to) return []
  const start = 'active_period_start_at'
  return [new Refusal('not_after_start', { start, startLabel: linkLabels[start] }).at('active_period_end_at')]
}

const noTags: readonly string[] = []

export const storeLink = form(
  {
    url: required(destinationUrl(target, maxTargetLength)),
    domain_id: optional(reference('The domain of the link. Default: your oldest domain.'), null),
    alias: optional(alias, null),
    space_id: optional(reference('The space of the link.'), null),
    title: optional(title, null),
    disabled: optional(boolean(disabledSchema), false),
    active_period_start_at: optional(time(start), null),
    active_period_end_at: optional(time(end), null),
    clicks_limit: optional(clicksLimit, null),
    expiration_url: optional(webUrl(expiration), null),
    redirect_password: optional(password, null),
    forward_query: optional(boolean(forwardSchema), false),
    redirect_status: optional(redirectStatus, 302),
    tags: list(tagName, tagsOptions, noTags),
    notes: optional(notes, null),
    archived: optional(boolean(archivedSchema), false),
  },
  assigned,
)

/** Separate from `storeLink`, because omitted fields stay unchanged and have no default. */
export const updateLink = form(
  {
    url: change(destinationUrl(target, maxTargetLength)),
    domain_id: fixed({ ...idOf('Cannot be changed. The current id may be sent.'), readOnly: true }, { number: true }),
    alias: change(alias),
    space_id: clearable(reference('The space of the link.')),
    title: clearable(title),
    disabled: change(boolean(disabledSchema)),
    active_period_start_at: clearable(time(start)),
    active_period_end_at: clearable(time(end)),
    clicks_limit: clearable(clicksLimit),
    expiration_url: clearable(webUrl(expiration)),
    redirect_password: clearable(password),
    forward_query: change(boolean(forwardSchema)),
    redirect_status: change(redirectStatus),
    tags: list(tagName, tagsOptions, undefined),
    notes: clearable(notes),
    archived: change(boolean(archivedSchema)),
  },
  assigned,
)

/** The labels of the fields on pages and in their error messages. */
export const linkLabels = {
  url: 'Destination',
  domain_id: 'Domain',
  alias: 'Alias',
  space_id: 'Space',
  title: 'Title',
  disabled: 'Disabled',
  active_period_start_at: 'Starts working on',
  active_period_end_at: 'Stops working on',
  clicks_limit: 'Click limit',
  expiration_url: 'Destination after it expires',
  redirect_password: 'Password',
  forward_query: 'Forward the query string',
  redirect_status: 'Redirect status',
  tags: 'Tags',
  notes: 'Notes',
  archived: 'Archived',
} as const satisfies LabelsOf<typeof storeLink>

type ValuesOf<F> = F extends Form<infer Values> ? Values : never

/** The checked fields of a request that stores a link. */
export type NewLink = ValuesOf<typeof storeLink>

/** The fields that the owner of a link sets. The password is a hash. */
export type LinkValues = Readonly<Omit<NewLink, 'domain_id' | 'alias'>>

/** Changed values. Undefined values stay unchanged. The password is a hash. */
export type LinkChange = Readonly<Partial<Omit<ValuesOf<typeof updateLink>, 'domain_id'>>>

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

export const listLinksQuery = listQueryOf(
  resources.links,
  linkFilters,
  'In ascending order of `last_clicked_at`, links without clicks are first.',
)

export const linkOperations = operationsOf('links', {
  description: 'Short links: each redirects an alias on a domain to a URL.',
  record: linkSchema,
  listQuery: listLinksQuery,
  store: {
    form: storeLink,
    failures: ['alias_taken'],
    description: 'Without `domain_id`, the link gets your oldest domain. Without `alias`, Waymark generates one.',
    example: { url: 'https://acme.com/summer?ref=short', alias: 'summer', title: 'Summer sale' },
    refused: { url: 'acme.com', redirect_status: '303' },
  },
  update: {
    form: updateLink,
    failures: ['alias_taken'],
    description:
      'Visitors see the change immediately, and within a second on every other node. The domain cannot be changed.',
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
    tags: ['Campaign', 'Summer'],
    notes: null,
    archived: false,
    clicks: 0,
    last_clicked_at: null,
    created_at: '2026-11-20T12:00:00.000Z',
    updated_at: '2026-11-20T12:00:00.000Z',
  },
})
