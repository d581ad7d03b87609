/** What sentences about changes need: the events of a batch, and the names of existing records. */
import { type Actor, allows } from '../access/actor.ts'
import { domainRecords } from '../domains/store.ts'
import { countTypes, readBatchEnd, type StoredEvent, sumCounts } from '../events/store.ts'
import { readAddresses, sampleSize } from '../history/sentences.ts'
import { findLinkNames } from '../links/link-list.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { RecordKind } from '../record-kinds.ts'
import { spaceRecords } from '../spaces/store.ts'
import type { Db } from '../storage/port.ts'
import { tagRecords } from '../tags/store.ts'
import { type Batch, type ChangeContext, type KnownRecord, keyRecord } from './parts/changes.ts'

/** Loads the facts about a batch, and counts its events up to `most`. */
export async function loadBatch(db: Db, account: number, id: string, most = Number.POSITIVE_INFINITY): Promise<Batch> {
  const counts = await countTypes(db, account, id, Date.now(), most + 1)
  const ends = (['asc', 'desc'] as const).map((order) => readBatchEnd(db, account, id, order, sampleSize))
  const sample = new Map((await Promise.all(ends)).flat().map((event) => [event.id, event]))
  return { counts, isLarger: sumCounts(counts, 'all') > most, sample: [...sample.values()] }
}

interface Source {
  readonly storage: Db
  readonly shortUrl: ShortUrl
  readonly timeZone: string
}

/** Names the records to which events refer. Keys are known only to those who may see them. */
export async function loadChangeContext(
  { storage, shortUrl, timeZone }: Source,
  viewer: Actor,
  events: readonly StoredEvent[],
): Promise<ChangeContext> {
  const refs = new Map<string, readonly [RecordKind, unknown]>()
  const refer = (record: RecordKind, id: unknown) => refs.set(keyRecord(record, id), [record, id])
  for (const { record, recordId, changes } of events) {
    if (record !== 'link') refer(record, recordId)
    for (const id of changes?.space_id ?? []) refer('space', id)
    for (const id of changes?.domain_id ?? []) refer('domain', id)
    for (const { domain_id } of (changes?.addresses ?? []).flatMap(readAddresses)) refer('domain', domain_id)
  }
  const linkIds = new Set(events.flatMap(({ record, recordId }) => (record === 'link' ? [recordId] : [])))
  const [links, found] = await Promise.all([
    findLinkNames(storage, viewer.account, [...linkIds]),
    Promise.all([...refs].map(async ([ref, of]) => [ref, await findKnown(storage, viewer, ...of)] as const)),
  ])
  const known = new Map<string, KnownRecord>(
    found.flatMap(([ref, record]) => (record === undefined ? [] : [[ref, record] as const])),
  )
  for (const id of links.keys()) known.set(keyRecord('link', id), { name: '' })
  return { shortUrl, timeZone, known }
}

async function findKnown(db: Db, viewer: Actor, record: RecordKind, id: unknown): Promise<KnownRecord | undefined> {
  if (typeof id !== 'number') return undefined
  const { account } = viewer
  switch (record) {
    case 'domain': {
      const domain = (await domainRecords.find(db, account, id))?.record
      return domain && { name: domain.name_unicode }
    }
    case 'space':
      return (await spaceRecords.find(db, account, id))?.record
    case 'tag':
      return (await tagRecords.find(db, account, id))?.record
    case 'key':
      return allows(viewer, 'keys:read') ? { name: '' } : undefined
    default:
      return { name: '' }
  }
}
