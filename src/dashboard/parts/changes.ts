/** Sentences about changes, and the values before and after them. Values are those of the API. */

import { domainToUnicode } from 'node:url'
import { domainLabels } from '../../domains/schema.ts'
import type { EventAction, RecordKind } from '../../events/event.ts'
import type { BatchCount, StoredEvent } from '../../events/store.ts'
import { colors } from '../../forms/rules.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import type { Source } from '../../imports/file-row.ts'
import { formatCount, quantity } from '../../lib/format.ts'
import { linkLabels } from '../../links/schema.ts'
import { formatShortUrl, type ShortUrl } from '../../names/short-url.ts'
import type { RedirectRule } from '../../rules/rule.ts'
import { spaceLabels } from '../../spaces/schema.ts'
import { tagLabels } from '../../tags/schema.ts'
import { capitalize, exactTimeElement, listed } from './format.ts'
import { originOf } from './imports.ts'
import { breakableUrl, shortUrlParts, spaceLabel } from './links.ts'
import { ruleList } from './rules.ts'

/** An existing record that an event or a value refers to. */
export interface KnownRecord {
  readonly name: string
  readonly color?: number
}

export interface ChangeContext {
  readonly shortUrl: ShortUrl
  /** The records that exist, by `refOf`. */
  readonly known: ReadonlyMap<string, KnownRecord>
  /** The zone of times. */
  readonly timeZone: string
}

/** Returns the key of a record in `ChangeContext.known`. */
export function refOf(record: RecordKind, id: unknown): string {
  return `${record} ${id}`
}

type Changed = Pick<StoredEvent, 'record' | 'action' | 'recordId' | 'name' | 'changes'>

/** The words around the thing: "moved … to Print". */
interface Phrase {
  readonly before: Html
  readonly after: Html
}

/** Renders who did something. People have a name. The others are named by what they are. */
export function actorName({ kind, name }: StoredEvent['actor']): Html {
  if (kind === 'system') return html`Waymark`
  if (kind === 'key') return html`API key <bdi>${name}</bdi>`
  return kind === 'command' ? html`Command line (<bdi>${name}</bdi>)` : html`<bdi>${name}</bdi>`
}

/** Renders what happened, without who did it: "changed the destination of go.acme.com/summer". */
export function deedOf(event: Changed, context: ChangeContext): Html {
  const { before, after } = phraseOf(event, context)
  return html`${before}${changedThing(event, context)}${after}`
}

/** Changes of one request, form, bulk action or command. */
export interface Batch {
  readonly counts: readonly BatchCount[]
  /** Whether it has more events than were counted. */
  readonly isLarger: boolean
  /** Its first and its last events. The first ones have caused the others. */
  readonly sample: readonly StoredEvent[]
}

/** Returns the counted types, after those of which only a sample is known. */
function typesOf({ counts, sample }: Batch): Pick<BatchCount, 'record' | 'action' | 'all'>[] {
  const known = new Set(counts.map(({ record, action }) => `${record}.${action}`))
  const others = Map.groupBy(sample, ({ record, action }) => `${record}.${action}`)
  const uncounted = [...others].flatMap(([type, [first, ...more]]) =>
    first === undefined || known.has(type) ? [] : [{ ...first, all: more.length + 1 }],
  )
  return [...uncounted, ...counts]
}

/** From this number on, all events of a batch and a type are assumed to have the same change, such as the same space. */
export const sampleSize = 10

/** Renders what happened in a batch, in its order: "deleted go.acme.com and 214 links". */
export function batchDeedOf(batch: Batch, context: ChangeContext): Html {
  const { isLarger } = batch
  const isJoin = batch.sample.some(({ action }) => action === 'joined')
  const deeds = typesOf(batch).map(({ record, action, all }) => {
    const sample = batch.sample.filter((event) => event.record === record && event.action === action)
    const [phrase, ...others] = sample.map((event) => phraseOf(event, context))
    const isSame = others.every(({ before, after }) => textOf({ before, after }) === (phrase && textOf(phrase)))
    const isEnough = sample.length === all || sample.length >= sampleSize
    const [first] = sample
    const amount = isLarger ? `more than ${quantity(all - 1, nouns[record])}` : quantity(all, nouns[record])
    return {
      phrase:
        isJoin && action === 'deleted' ? used : phrase && isSame && isEnough ? phrase : plainPhrase(record, action),
      thing: all === 1 && first ? changedThing(first, context) : html`${amount}`,
    }
  })
  const groups = [...Map.groupBy(deeds, ({ phrase }) => textOf(phrase)).values()]
  const all = groups.map((group) => {
    const { before, after } = group[0]?.phrase ?? phrase('')
    const things = group.map(({ thing }) => thing)
    return html`${before}${listed(things, ' and ')}${after}`
  })
  return listed(all, ' and ')
}

/** Renders the record after the verb. Someone who joins is named before it already. */
function changedThing(event: Changed, context: ChangeContext): Html {
  return event.action === 'joined' ? html`` : thingOf(event, context)
}

/** Joining deletes the invitation. */
const used = phrase('used')

function textOf({ before, after }: Phrase): string {
  return `${before.text}…${after.text}`
}

/** What people call records of each kind. */
const nouns: Readonly<Record<RecordKind, string>> = {
  ...{ link: 'link', domain: 'domain', space: 'space', tag: 'tag' },
  ...{ key: 'API key', account: 'account', member: 'member', invitation: 'invitation', import: 'import' },
}

/** Renders the record of an event with its name at that time, as a link to its page if it exists. */
export function thingOf({ record, recordId, name }: Changed, { shortUrl, known }: ChangeContext): Html {
  const href = known.has(refOf(record, recordId)) ? pageOf(record, recordId) : null
  const words = wordsOf(record, name, shortUrl)
  const named = href === null ? words : html`<a href="${href}">${words}</a>`
  return record === 'link' || record === 'domain' ? named : html`the ${nouns[record]} ${named}`
}

function wordsOf(record: RecordKind, name: string, shortUrl: ShortUrl): Html {
  if (record === 'domain') return html`<bdi>${domainToUnicode(name) || name}</bdi>`
  if (record === 'import') return html`${originOf(name as Source)}`
  if (record !== 'link') return html`<bdi>${name}</bdi>`
  const { host, path } = shortUrlParts(formatShortUrl(name, shortUrl))
  return html`<bdi dir="ltr">${host}<wbr>${path}</bdi>`
}

function pageOf(record: RecordKind, id: number): string {
  if (record === 'account') return '/app/account'
  if (record === 'member' || record === 'invitation') return '/app/people'
  if (record === 'import') return `/app/import/${id}`
  return record === 'key' ? '/app/keys' : `/app/${record}s/${id}`
}

function phrase(before: Part, after: Part = null): Phrase {
  return { before: html`${before} `, after: after === null ? html`` : html` ${after}` }
}

const verbs: Readonly<Record<EventAction, string>> = {
  ...{ created: 'created', updated: 'changed', deleted: 'deleted', restored: 'restored' },
  ...{ clicks_deleted: 'deleted the statistics of', merged: 'merged', rotated: 'rotated', revoked: 'revoked' },
  ...{ joined: 'joined the account', removed: 'removed', applied: 'applied', undone: 'undid' },
}

function plainPhrase(record: RecordKind, action: EventAction): Phrase {
  return phrase(record === 'domain' && action === 'created' ? 'added' : verbs[action])
}

function phraseOf({ record, action, changes }: Changed, context: ChangeContext): Phrase {
  const fields = Object.entries(changes ?? {})
  const [first] = fields
  if (action !== 'updated' || first === undefined) return plainPhrase(record, action)
  if (changes?.addresses) return addressPhrase(changes, context)
  if (fields.length > 1) return phrase(`changed ${fields.length} fields of`)
  const [field, [before, after]] = first
  const settings = record === 'link' ? linkPhrases[field] : undefined
  if (settings !== undefined) return settings(after, context)
  const verb = before === null ? 'set' : after === null ? 'removed' : 'changed'
  return phrase(`${verb} the ${nounOf(record, field)} of`)
}

/** Says what happened to the further addresses of a link: one was added or deleted, or the main address before became one. */
function addressPhrase({ addresses, ...others }: NonNullable<Changed['changes']>, context: ChangeContext): Phrase {
  const [before, after] = (addresses ?? []).map((value) => addressesIn(value))
  const [added = [], gone = []] = [differing(after, before), differing(before, after)]
  if (Object.keys(others).length > 0) {
    const main = { record: 'link', action: 'updated', recordId: 0, name: '', changes: others } as const
    const phrases = phraseOf(main, context)
    return added.length === 0 ? phrases : { ...phrases, after: html`${phrases.after}, and kept the old address` }
  }
  const named = (some: readonly ChangedAddress[]) =>
    some.length > 1
      ? quantity(some.length, 'address', 'addresses')
      : html`the address ${some.map((each) => addressName(each, context))}`
  if (gone.length === 0) return phrase(html`added ${named(added)} to`)
  return added.length === 0 ? phrase(html`deleted ${named(gone)} of`) : phrase('changed the addresses of')
}

/** A further address in an event. */
interface ChangedAddress {
  readonly id: number
  readonly domain_id: number
  readonly alias: string
  readonly exact: boolean
}

/** Returns the further addresses in a value of an event. */
export function addressesIn(value: unknown): readonly ChangedAddress[] {
  return Array.isArray(value) ? value : []
}

function differing(some: readonly ChangedAddress[] = [], others: readonly ChangedAddress[] = []) {
  return some.filter(({ id }) => !others.some((other) => other.id === id))
}

function addressName({ domain_id, alias }: ChangedAddress, { known }: Pick<ChangeContext, 'known'>): Html {
  const { name } = known.get(refOf('domain', domain_id)) ?? { name: 'a deleted domain' }
  return html`<bdi dir="ltr">${name}/<wbr>${alias}</bdi>`
}

const linkPhrases: Readonly<Record<string, (after: unknown, context: ChangeContext) => Phrase>> = {
  disabled: (after) => phrase(after === true ? 'disabled' : 'enabled'),
  rules: () => phrase('changed the rules of'),
  archived: (after) => phrase(after === true ? 'archived' : 'unarchived'),
  forward_query: (after) => phrase(`turned ${after === true ? 'on' : 'off'} the forwarding of the query string for`),
  space_id: (after, context) =>
    phrase('moved', html`to ${after === null ? '“No space”' : reference('space', after, context)}`),
  domain_id: (after, context) => phrase('moved', html`to ${reference('domain', after, context)}`),
}

/** Fields whose label is not a noun. */
const fieldNouns: Readonly<Record<string, string>> = {
  active_period_start_at: 'start',
  active_period_end_at: 'end',
  expiration_url: 'destination after the end',
  apple_app_site_association: 'iOS app links',
  asset_links: 'Android app links',
  expires_at: 'end',
  qr_style: 'QR code style',
  key_sign_in: 'sign-in with API keys',
}

function nounOf(record: RecordKind, field: string): string {
  return fieldNouns[field] ?? labelOf(record, field).toLowerCase()
}

const labels: Readonly<Record<RecordKind, Readonly<Record<string, string>>>> = {
  link: linkLabels,
  domain: { ...domainLabels, qr_style: 'QR code style' },
  space: spaceLabels,
  tag: tagLabels,
  key: { expires_at: 'Expires on' },
  account: { key_sign_in: 'Sign-in with API keys' },
  member: {},
  invitation: { expires_at: 'Expires on' },
  import: {},
}

/** Returns what people call a field. */
export function labelOf(record: RecordKind, field: string): string {
  return labels[record][field] ?? capitalize(field.replace(/_(?:id|at)$/, '').replaceAll('_', ' '))
}

/** Renders each changed field with its old and its new value. Values of new and deleted records are collapsed. */
export function changedValues({ record, action, changes }: Changed, context: ChangeContext): Html | null {
  const fields = Object.entries(changes ?? {})
  if (fields.length === 0) return null
  if (action === 'updated') {
    const rows = fields.map(
      ([field, [before, after]]) =>
        html`<div><dt>${labelOf(record, field)}</dt>${oneValue('del', field, before, context)}${oneValue('ins', field, after, context)}</div>`,
    )
    return html`<dl class="changed">${rows}</dl>`
  }
  const rows = fields.flatMap(([field, [before, after]]) => {
    const value = after ?? before
    return isNone(value)
      ? []
      : html`<div><dt>${labelOf(record, field)}</dt><dd>${shownValue(field, value, context)}</dd></div>`
  })
  return html`<details><summary>Values</summary><dl class="changed">${rows}</dl></details>`
}

function oneValue(element: 'del' | 'ins', field: string, value: unknown, context: ChangeContext): Html {
  const words = html`<span class="hidden-text">${element === 'del' ? 'Before: ' : 'After: '}</span>`
  const shown = shownValue(field, value, context)
  if (isNone(value)) return html`<dd class="muted">${words}${shown}</dd>`
  return element === 'del' ? html`<dd><del>${words}${shown}</del></dd>` : html`<dd><ins>${words}${shown}</ins></dd>`
}

function isNone(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
}

/** Renders the value of a field for people. */
export function shownValue(field: string, value: unknown, context: Pick<ChangeContext, 'known' | 'timeZone'>): Html {
  if (isNone(value)) return html`none`
  if (field === 'redirect_password') return html`a password`
  if (field === 'space_id') return reference('space', value, context)
  if (field === 'domain_id') return reference('domain', value, context)
  if (typeof value === 'boolean') return html`${value ? 'Yes' : 'No'}`
  if (typeof value === 'number') return numberOf(field, value)
  if (field === 'rules')
    return ruleList(value as readonly RedirectRule[], context.timeZone, (url) => html`<bdi>${breakableUrl(url)}</bdi>`)
  if (Array.isArray(value)) {
    const words = (each: unknown) =>
      field === 'addresses' ? addressName(each as ChangedAddress, context) : String(each)
    return html`<ul class="chips">${value.map((each) => html`<li>${words(each)}</li>`)}</ul>`
  }
  if (typeof value === 'object') return objectOf(value as object, context)
  const text = String(value)
  if (field.endsWith('_at') && !Number.isNaN(Date.parse(text))) return exactTimeElement(text, context.timeZone)
  return html`<bdi class="lines">${field.endsWith('url') ? breakableUrl(text) : text}</bdi>`
}

function numberOf(field: string, value: number): Html {
  const color = field === 'color' ? colors[value - 1] : undefined
  if (color !== undefined) return spaceLabel({ name: capitalize(color), color: value })
  return html`${field === 'redirect_status' ? String(value) : formatCount(value)}`
}

function objectOf(value: object, context: Pick<ChangeContext, 'known' | 'timeZone'>): Html {
  const parts = Object.entries(value).map(
    ([name, each]) => html`${capitalize(name.replaceAll('_', ' '))}: ${shownValue(name, each, context)}`,
  )
  return listed(parts)
}

function reference(kind: 'space' | 'domain', id: unknown, { known }: Pick<ChangeContext, 'known'>): Html {
  const record = known.get(refOf(kind, id))
  if (record === undefined) return html`a deleted ${kind}`
  const { name, color } = record
  return color === undefined ? html`<bdi>${name}</bdi>` : spaceLabel({ name, color })
}
