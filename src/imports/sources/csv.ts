import { linkFields, shownName } from '../../links/fields.ts'
import type { FieldNames, SourceTable } from '../source-table.ts'

const { domain_id, space_id, ...own } = linkFields

/** The accepted names of columns by field, the preferred ones first. */
const guesses: Readonly<Record<string, readonly string[]>> = {
  url: ['url', 'longUrl', 'destination', 'destinationUrl', 'originalUrl', 'target'],
  short_url: ['shortUrl', 'shortLink', 'link'],
  domain: ['domain', 'host'],
  alias: ['alias', 'slug', 'shortCode', 'keyword', 'path', 'backhalf'],
  title: ['title'],
  notes: ['notes', 'description', 'comment'],
  tags: ['tags'],
  created_at: ['createdAt', 'dateCreated', 'Created'],
  active_period_end_at: ['active_period_end_at', 'expiresAt', 'validUntil'],
  clicks: ['clicks', 'visits', 'hits', 'Total clicks'],
  bots: ['bots'],
  has_redirect_password: ['has_redirect_password', 'Has a password'],
}

/** The names of columns by field: those above, the API's names, and the labels in files of the dashboard. */
export const namesOfFields: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    Object.entries(own).map(([field, { label }]) => [field, [...(guesses[field] ?? [field]), label]]),
  ),
  ...Object.fromEntries(Object.entries(guesses).filter(([field]) => !(field in own))),
}

/** Columns that the server assigns. */
export const ignoredNames = [
  ...['id', 'domain_id', 'space_id', 'Space', 'status', 'last_clicked_at', 'updated_at', 'legacy'],
  ...['Clicks (30 days)', 'Last click'],
]

const fields = Object.fromEntries(Object.keys(own).map((field) => [field, [field]]))

/** Tables with columns of any names, whose fields are guessed or chosen, and Waymark's own exports. */
export const csv: SourceTable = {
  source: 'csv',
  isCaseSensitive: false,
  formats: [
    { kind: 'json', list: '', requires: ['url', 'short_url'] },
    { kind: 'json', list: 'data', requires: ['url', 'short_url'] },
  ],
  fields: {
    ...(fields as FieldNames),
    address: ['short_url'],
    host: ['domain'],
    created_at: ['created_at'],
    clicks: ['clicks'],
    bots: ['bots'],
  },
  losses: { password: [shownName('redirect_password')] },
}
