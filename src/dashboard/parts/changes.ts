/** Changes on pages: the sentences about them, and the values before and after them. Values are those of the API. */

import { formatChange } from '../../events/schema.ts'
import type { BatchCount, StoredEvent } from '../../events/store.ts'
import { colors } from '../../forms/rules.ts'
import {
  type ChangedAddress,
  describeBatch,
  describeChange,
  type FindName,
  labelField,
  nameAddress,
  nameRecord,
  type RecordName,
  type Words,
} from '../../history/sentences.ts'
import { type Html, html } from '../../http/html.ts'
import { capitalize, formatCount } from '../../lib/format.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { kinds, type RecordKind } from '../../record-kinds.ts'
import type { RedirectRule } from '../../rules/rule.ts'
import { exactTimeElement, listed } from './format.ts'
import { breakableUrl, spaceLabel, truncateHost } from './links.ts'
import { ruleList } from './rules.ts'

/** An existing record that an event or a value refers to. */
export interface KnownRecord {
  readonly name: string
  readonly color?: number
}

export interface ChangeContext {
  readonly shortUrl: ShortUrl
  /** The records that exist, by `keyRecord`. */
  readonly known: ReadonlyMap<string, KnownRecord>
  /** The zone of times. */
  readonly timeZone: string
}

type Known = Pick<ChangeContext, 'known'>

/** Returns a record's key in `ChangeContext.known`. */
export function keyRecord(kind: RecordKind, id: unknown): string {
  return `${kind} ${id}`
}

type Changed = Pick<StoredEvent, 'record' | 'action' | 'recordId' | 'name' | 'changes'>

/** Changes of one request, form, bulk action or command: see `ChangeBatch`. */
export interface Batch {
  readonly counts: readonly BatchCount[]
  readonly isLarger: boolean
  readonly sample: readonly StoredEvent[]
}

/** Renders who did something. People have a name. The others are named by what they are. */
export function actorName({ kind, name }: StoredEvent['actor']): Html {
  if (kind === 'system') return html`Waymark`
  if (kind === 'key') return html`API key <bdi>${name}</bdi>`
  return kind === 'command' ? html`Command line (<bdi>${name}</bdi>)` : html`<bdi>${name}</bdi>`
}

/** Renders what happened, without who did it: "changed the destination of go.acme.com/summer". */
export function renderChange(event: Changed, context: ChangeContext): Html {
  return renderWords(describeChange(formatChange(event, context.shortUrl), findNames(context)), context)
}

/** Renders what happened in a batch, in its order: "deleted go.acme.com and 214 links". */
export function renderBatch(batch: Batch, context: ChangeContext): Html {
  return renderWords(describe(batch, context), context)
}

/** Says what happened in a batch. */
export function describe({ counts, isLarger, sample }: Batch, context: ChangeContext): Words {
  const types = counts.map(({ record, action, all }) => ({ type: `${record}.${action}`, record, all }))
  const changes = sample.map((event) => formatChange(event, context.shortUrl))
  return describeBatch({ counts: types, isLarger, sample: changes }, findNames(context))
}

/** Renders the record of an event with its name at that time, as a link to its page if it exists. */
export function renderRecord(event: Changed, context: ChangeContext): Html {
  return renderWords(nameRecord(formatChange(event, context.shortUrl)), context)
}

/** Renders a sentence. Records that exist are links. */
export function renderWords(words: Words, context: Known): Html {
  return html`${words.map((word) => (typeof word === 'string' ? word : renderName(word, context)))}`
}

function renderName({ kind, id, name }: RecordName, { known }: Known): Html {
  const record = known.get(keyRecord(kind, id))
  const [host = '', ...path] = name.split(/(?=\/)/)
  const shown =
    kind === 'link'
      ? html`<bdi dir="ltr">${truncateHost(host)}<wbr>${path.join('')}</bdi>`
      : record?.color === undefined
        ? html`<bdi>${name}</bdi>`
        : spaceLabel({ name, color: record.color })
  return record === undefined ? shown : html`<a href="${kinds[kind].page.replace(':id', String(id))}">${shown}</a>`
}

function findNames({ known }: Known): FindName {
  return (kind, id) => known.get(keyRecord(kind, id))?.name
}

/** Renders each changed field with its old and its new value. Values of new and deleted records are collapsed. */
export function renderValues({ record, action, changes }: Changed, context: ChangeContext): Html | null {
  const fields = Object.entries(changes ?? {})
  if (fields.length === 0) return null
  if (action === 'updated') {
    const rows = fields.map(
      ([field, [before, after]]) =>
        html`<div><dt>${labelField(record, field)}</dt>${renderSide('del', field, before, context)}${renderSide('ins', field, after, context)}</div>`,
    )
    return html`<dl class="changed">${rows}</dl>`
  }
  const rows = fields.flatMap(([field, [before, after]]) => {
    const value = after ?? before
    return isNone(value)
      ? []
      : html`<div><dt>${labelField(record, field)}</dt><dd>${renderValue(field, value, context)}</dd></div>`
  })
  return html`<details><summary>Values</summary><dl class="changed">${rows}</dl></details>`
}

function renderSide(element: 'del' | 'ins', field: string, value: unknown, context: ChangeContext): Html {
  const words = html`<span class="hidden-text">${element === 'del' ? 'Before: ' : 'After: '}</span>`
  const shown = renderValue(field, value, context)
  if (isNone(value)) return html`<dd class="muted">${words}${shown}</dd>`
  return element === 'del' ? html`<dd><del>${words}${shown}</del></dd>` : html`<dd><ins>${words}${shown}</ins></dd>`
}

function isNone(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
}

/** Renders the value of a field for people. */
export function renderValue(field: string, value: unknown, context: Pick<ChangeContext, 'known' | 'timeZone'>): Html {
  if (isNone(value)) return html`none`
  if (field === 'redirect_password') return html`a password`
  if (field === 'space_id') return renderReference('space', value, context)
  if (field === 'domain_id') return renderReference('domain', value, context)
  if (typeof value === 'boolean') return html`${value ? 'Yes' : 'No'}`
  if (typeof value === 'number') return renderNumber(field, value)
  if (field === 'rules')
    return ruleList(value as readonly RedirectRule[], context.timeZone, (url) => html`<bdi>${breakableUrl(url)}</bdi>`)
  if (Array.isArray(value)) {
    const words = (each: unknown) =>
      field === 'addresses'
        ? renderName(nameAddress(each as ChangedAddress, findNames(context)), context)
        : String(each)
    return html`<ul class="chips">${value.map((each) => html`<li>${words(each)}</li>`)}</ul>`
  }
  if (typeof value === 'object') return renderObject(value as object, context)
  const text = String(value)
  if (field.endsWith('_at') && !Number.isNaN(Date.parse(text))) return exactTimeElement(text, context.timeZone)
  return html`<bdi class="lines">${field.endsWith('url') ? breakableUrl(text) : text}</bdi>`
}

function renderNumber(field: string, value: number): Html {
  const color = field === 'color' ? colors[value - 1] : undefined
  if (color !== undefined) return spaceLabel({ name: capitalize(color), color: value })
  return html`${field === 'redirect_status' ? String(value) : formatCount(value)}`
}

function renderObject(value: object, context: Pick<ChangeContext, 'known' | 'timeZone'>): Html {
  const parts = Object.entries(value).map(
    ([name, each]) => html`${capitalize(name.replaceAll('_', ' '))}: ${renderValue(name, each, context)}`,
  )
  return listed(parts)
}

function renderReference(kind: 'space' | 'domain', id: unknown, { known }: Pick<ChangeContext, 'known'>): Html {
  const record = known.get(keyRecord(kind, id))
  if (record === undefined) return html`a deleted ${kind}`
  const { name, color } = record
  return color === undefined ? html`<bdi>${name}</bdi>` : spaceLabel({ name, color })
}
