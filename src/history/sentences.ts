/**
 * Sentences about changes, from their events: "changed the destination of go.acme.com/summer". The history, notices and
 * commands use the same sentences. Events have the fields of the API.
 */
import { domainToUnicode } from 'node:url'
import { domainLabels } from '../domains/schema.ts'
import type { Change } from '../events/schema.ts'
import { nameOrigin } from '../imports/source-names.ts'
import { capitalize, quantity } from '../lib/format.ts'
import { linkLabels } from '../links/schema.ts'
import { decodeShortUrl } from '../names/short-url.ts'
import { findVerb, kinds, type RecordKind } from '../record-kinds.ts'
import { spaceLabels } from '../spaces/schema.ts'
import { tagLabels } from '../tags/schema.ts'

/** A record's name in a sentence. Pages link it to the record, if that exists. */
export interface RecordName {
  readonly kind: RecordKind
  /** Null for an address, which has no page. */
  readonly id: number | null
  readonly name: string
}

/** A sentence without its subject and its period. */
export type Words = readonly (string | RecordName)[]

/** Finds the name of a space or domain to which a change refers. */
export type FindName = (kind: 'space' | 'domain', id: number) => string | undefined

/** How many events of a batch have the same type. */
interface TypeCount extends Pick<Change, 'type' | 'record'> {
  readonly all: number
}

/** Changes of one request, form, bulk action or command. */
export interface ChangeBatch {
  readonly counts: readonly TypeCount[]
  /** Whether it has more events than were counted. */
  readonly isLarger: boolean
  /** Its first and its last events. The first ones have caused the others. */
  readonly sample: readonly Change[]
}

/** From this number on, all events of a batch and a type are assumed to have the same change, such as the same space. */
export const sampleSize = 10

/** The words around the name: "moved … to Print". Those after it start with a space or a comma. */
interface Phrase {
  readonly before: Words
  readonly after: Words
}

/** Says what happened in an event: "moved go.acme.com/summer to Print". */
export function describeChange(change: Change, findName: FindName): Words {
  return joinPhrase(findPhrase(change, findName), [nameRecord(change)])
}

/** Says what happened in a batch, in its order: "deleted go.acme.com and 214 links". */
export function describeBatch(batch: ChangeBatch, findName: FindName): Words {
  const deeds = countTypes(batch).map((count) => describeType(batch, count, findName))
  const groups = Map.groupBy(deeds, ({ phrase }) => JSON.stringify(phrase))
  const all = [...groups.values()].flatMap(([first, ...more]) =>
    first === undefined
      ? []
      : [
          joinPhrase(
            first.phrase,
            [first, ...more].map(({ thing }) => thing),
          ),
        ],
  )
  return listWords(all)
}

/** Returns the words as text. */
export function formatWords(words: Words): string {
  return words.map((word) => (typeof word === 'string' ? word : word.name)).join('')
}

/** Returns the counted types, after those of which only a sample is known. */
function countTypes({ counts, sample }: ChangeBatch): readonly TypeCount[] {
  const known = new Set(counts.map(({ type }) => type))
  const others = Map.groupBy(sample, ({ type }) => type)
  const uncounted = [...others].flatMap(([type, [first, ...more]]) =>
    first === undefined || known.has(type) ? [] : [{ type, record: first.record, all: more.length + 1 }],
  )
  return [...uncounted, ...counts]
}

/** Returns what all events of a type in a batch have in common. */
function describeType({ sample, isLarger }: ChangeBatch, { type, record, all }: TypeCount, findName: FindName) {
  const some = sample.filter((event) => event.type === type)
  const [first] = some
  const phrases = some.map((event) => findPhrase(event, findName))
  const isSame = new Set(phrases.map((phrase) => JSON.stringify(phrase))).size === 1
  const isEnough = some.length === all || some.length >= sampleSize
  // Joining deletes the invitation.
  const isUsed = type === 'invitation.deleted' && sample.some((event) => event.type === 'member.joined')
  const { noun } = kinds[record]
  const amount = isLarger ? `more than ${quantity(all - 1, noun)}` : quantity(all, noun)
  const common = isSame && isEnough ? phrases[0] : undefined
  return {
    phrase: isUsed ? phrase('used') : (common ?? phrase(findVerb(record, readAction({ type, record })))),
    thing: all === 1 && first !== undefined ? nameRecord(first) : [amount],
  }
}

function joinPhrase({ before, after }: Phrase, things: readonly Words[]): Words {
  const named = things.filter((thing) => thing.length > 0)
  const object = named.length === 0 ? [] : [' ', ...listWords(named)]
  return [...before, ...object, ...after]
}

/** Returns the parts with commas between them, and "and" before the last. */
function listWords(parts: readonly Words[]): Words {
  const separator = (at: number) => (at === 0 ? [] : [at === parts.length - 1 ? ' and ' : ', '])
  return parts.flatMap((part, at) => [...separator(at), ...part])
}

function readAction({ type, record }: Pick<Change, 'type' | 'record'>): string {
  return type.slice(record.length + 1)
}

/** Returns the record of an event with its name at that time. Someone who joins is the subject already. */
export function nameRecord({ type, record, record_id: id, record_name: name }: Change): Words {
  if (type === 'member.joined') return []
  const named = { kind: record, id, name: formatName(record, name) }
  return record === 'link' || record === 'domain' ? [named] : [`the ${kinds[record].noun} `, named]
}

function formatName(record: RecordKind, name: string): string {
  if (record === 'domain') return domainToUnicode(name) || name
  if (record === 'import') return nameOrigin(name)
  if (record !== 'link') return name
  const { host, path } = decodeShortUrl(name)
  return host + path
}

function phrase(before: string | Words, after: Words = []): Phrase {
  return { before: typeof before === 'string' ? [before] : before, after }
}

function findPhrase({ type, record, changes }: Change, findName: FindName): Phrase {
  const action = readAction({ type, record })
  const isPermanent = action === 'deleted' && changes === null
  const fields = Object.entries(changes ?? {})
  const [first] = fields
  if (action !== 'updated' || first === undefined)
    return phrase(findVerb(record, action), isPermanent ? [' permanently'] : [])
  if (changes?.addresses !== undefined) return findAddressPhrase(changes, findName)
  if (fields.length > 1) return phrase(`changed ${fields.length} fields of`)
  const [field, [before, after]] = first
  const setting = record === 'link' ? linkPhrases[field] : undefined
  if (setting !== undefined) return setting(after, findName)
  const verb = before === null ? 'set' : after === null ? 'removed' : 'changed'
  return phrase(`${verb} the ${fieldNouns[field] ?? labelField(record, field).toLowerCase()} of`)
}

const linkPhrases: Readonly<Record<string, (after: unknown, findName: FindName) => Phrase>> = {
  disabled: (after) => phrase(after === true ? 'disabled' : 'enabled'),
  rules: () => phrase('changed the rules of'),
  archived: (after) => phrase(after === true ? 'archived' : 'unarchived'),
  forward_query: (after) => phrase(`turned ${after === true ? 'on' : 'off'} the forwarding of the query string for`),
  space_id: (after, findName) =>
    phrase('moved', [' to ', after === null ? '“No space”' : refer('space', after, findName)]),
  domain_id: (after, findName) => phrase('moved', [' to ', refer('domain', after, findName)]),
}

function refer(kind: 'space' | 'domain', id: unknown, findName: FindName): string | RecordName {
  const name = findName(kind, Number(id))
  return name === undefined ? `a deleted ${kind}` : { kind, id: Number(id), name }
}

/** A further address in an event. */
export interface ChangedAddress {
  readonly id: number
  readonly domain_id: number
  readonly alias: string
}

/** Returns the further addresses in a value of an event. */
export function readAddresses(value: unknown): readonly ChangedAddress[] {
  return Array.isArray(value) ? value : []
}

/** Returns an address with its host name. */
export function nameAddress({ domain_id, alias }: ChangedAddress, findName: FindName): RecordName {
  return { kind: 'link', id: null, name: `${findName('domain', domain_id) ?? 'a deleted domain'}/${alias}` }
}

/** Says what happened to the further addresses of a link: one was added or deleted, or the main address before became one. */
function findAddressPhrase({ addresses, ...others }: NonNullable<Change['changes']>, findName: FindName): Phrase {
  const [before = [], after = []] = (addresses ?? []).map(readAddresses)
  const added = after.filter(({ id }) => !before.some((address) => address.id === id))
  const deleted = before.filter(({ id }) => !after.some((address) => address.id === id))
  if (Object.keys(others).length > 0) {
    const main = { type: 'link.updated', record: 'link', record_id: 0, record_name: '', changes: others } as const
    const moved = findPhrase(main, findName)
    return added.length === 0 ? moved : phrase(moved.before, [...moved.after, ', and kept the old address'])
  }
  const named = (some: readonly ChangedAddress[]): Words =>
    some.length === 1
      ? ['the address ', ...some.map((address) => nameAddress(address, findName))]
      : [quantity(some.length, 'address', 'addresses')]
  if (deleted.length === 0) return phrase(['added ', ...named(added), ' to'])
  return added.length === 0 ? phrase(['deleted ', ...named(deleted), ' of']) : phrase('changed the addresses of')
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

const labels: Readonly<Partial<Record<RecordKind, Readonly<Record<string, string>>>>> = {
  link: linkLabels,
  domain: { ...domainLabels, qr_style: 'QR code style' },
  space: spaceLabels,
  tag: tagLabels,
  key: { expires_at: 'Expires on' },
  account: { key_sign_in: 'Sign-in with API keys' },
  member: { access_ends_at: 'End of access' },
  invitation: { expires_at: 'Expires on', access_ends_at: 'End of access' },
}

/** Returns what people call a field. */
export function labelField(record: RecordKind, field: string): string {
  return labels[record]?.[field] ?? capitalize(field.replace(/_(?:id|at)$/, '').replaceAll('_', ' '))
}
