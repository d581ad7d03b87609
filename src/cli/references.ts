/** The records that arguments name: a domain, a space or a tag by its ID or name, a link by its short URL or alias. */
import { domainOperations } from '../domains/operations.ts'
import { StartupFailure } from '../errors.ts'
import { positiveInteger } from '../forms/rules.ts'
import type { Fields } from '../http/form-encoding.ts'
import { foldCase, trimText } from '../lib/text.ts'
import { addressOperations, type ShownAddress } from '../links/address-schema.ts'
import { linkOperations } from '../links/operations.ts'
import type { Link } from '../links/schema.ts'
import { type Member, memberOperations } from '../members/schema.ts'
import { parseHostName } from '../names/host-name.ts'
import { encodeAlias, parseShortUrl } from '../names/short-url.ts'
import { spaceOperations } from '../spaces/operations.ts'
import { tagOperations } from '../tags/operations.ts'
import { program } from '../version.ts'
import { Refusal } from '../violations.ts'
import { optional, required, text, WrongUse } from './arguments.ts'
import type { Client } from './client.ts'

export interface NamedRecord {
  readonly id: number
  readonly name: string
  /** The number of links. Only tags have it. */
  readonly links?: number
}

export const groupOperations = { domain: domainOperations, space: spaceOperations, tag: tagOperations }
export type KindName = keyof typeof groupOperations

/** Records in one error message. */
const maxNamed = 10
/** Longer texts can't be searched, and are no names. */
const maxSearched = 255

/**
 * Returns the record with this ID or name. `label` is the subject of error messages. Throws `StartupFailure` or, for several
 * records, `WrongUse`.
 */
export async function chooseRecord(
  client: Client,
  kind: KindName,
  reference: string,
  label = `--${kind}`,
): Promise<NamedRecord> {
  const [name, id] = [trimText(reference), positiveInteger(trimText(reference))]
  const byId = id === undefined ? undefined : await client.find<NamedRecord>(groupOperations[kind].show, id)
  if (byId !== undefined) return byId
  const [record, ...others] = await findNamed(client, kind, name, label)
  if (record === undefined) {
    const list = `To see all ${kind}s, run "${program} ${kind}s list".`
    throw new StartupFailure(`${label}: The account has no ${kind} "${name}". ${list}`)
  }
  if (others.length === 0) return record
  throw new WrongUse(
    `${label}: Several ${kind}s are named ${name}. Use an ID instead: ${listIds([record, ...others])}.`,
  )
}

/** Lists the records with a name. Throws `WrongUse` if it can't be a name. */
async function findNamed(client: Client, kind: KindName, name: string, label: string): Promise<NamedRecord[]> {
  const { list } = groupOperations[kind]
  if (kind !== 'domain') return first(client.each<NamedRecord>(list, searchFor(name)), sameText(name))
  const host = parseHostName(name)
  if (!(host instanceof Refusal))
    return first(client.each<NamedRecord>(list, searchFor(host.name)), sameText(host.name))
  // No account can have a public suffix.
  if (host.code === 'public_suffix') return []
  throw new WrongUse(`${label}: ${host.at('domain').message}`)
}

function searchFor(text: string, search_by = 'name') {
  // Of longer texts, the names that could be found have the beginning.
  return { fields: { search: [...text].slice(0, maxSearched).join(''), search_by } }
}

function sameText(name: string) {
  const folded = foldCase(name)
  return (record: { readonly name: string }) => foldCase(record.name) === folded
}

/** Returns the first records that match, and one more than a message names. */
async function first<T>(records: AsyncIterable<T>, matches: (record: T) => boolean): Promise<T[]> {
  const found: T[] = []
  for await (const record of records) {
    if (matches(record)) found.push(record)
    if (found.length > maxNamed) break
  }
  return found
}

/**
 * Returns the member with this ID or email address. `label` is the subject of error messages. Throws `StartupFailure` or, for
 * several members, `WrongUse`.
 */
export async function chooseMember(client: Client, reference: string, label = 'MEMBER'): Promise<Member> {
  const text = trimText(reference)
  const id = positiveInteger(text)
  const byId = id === undefined ? undefined : await client.find<Member>(memberOperations.show, id)
  const folded = foldCase(text)
  const all = client.each<Member>(memberOperations.list, searchFor(text, 'email'))
  const named = byId ? [byId] : await first(all, ({ email }) => email !== null && foldCase(email) === folded)
  const [member, ...others] = named
  if (member === undefined) {
    const list = `To see all members, run "${program} members list".`
    throw new StartupFailure(`${label}: The account has no member "${text}". ${list}`)
  }
  if (others.length === 0) return member
  throw new WrongUse(`${label}: Several members have the email address ${text}. Use an ID instead: ${listIds(named)}.`)
}

const references = { domain_id: 'domain', space_id: 'space', tag_id: 'tag' } as const

/** Replaces the names of domains, spaces and tags by their ids. An empty value clears a field, and 0 means no space. */
export async function withIds(client: Client, fields: Fields): Promise<Fields> {
  const replaced: Record<string, unknown> = { ...fields }
  for (const [field, kind] of Object.entries(references)) {
    const given = replaced[field]
    if (typeof given !== 'string' || given === '' || given === '0') continue
    const names = kind === 'tag' ? given.split(',') : [given]
    const ids: number[] = []
    for (const name of names) ids.push((await chooseRecord(client, kind, name)).id)
    replaced[field] = ids.join(',')
  }
  return replaced
}

export const aliasOperand = required('ALIAS', 'the short URL or its alias (case-insensitive)', text)
export const domainOption = optional(
  'DOMAIN',
  'the domain, by ID or name (optional if only one domain has the alias)',
  text,
)
export const aliasNote = 'Put "--" before an alias that starts with a hyphen.'

/** A domain in ASCII, and the aliases that a text may mean, from the most exact one. */
type Pasted = NonNullable<ReturnType<typeof parseShortUrl>>
type Address = Pick<ShownAddress, 'short_url' | 'alias' | 'exact'>

/** Returns whether visitors of a pasted short URL may reach an address. */
function isReached({ short_url, alias, exact }: Address, { domain, aliases }: Pasted): boolean {
  const isAlias = (text: string) => text === alias || (!exact && foldCase(text) === foldCase(alias))
  return parseShortUrl(short_url)?.domain === domain && aliases.some(isAlias)
}

/** Returns the further addresses of a link that a pasted short URL may mean. */
function findFurther(client: Client, { id }: Link, pasted: Pasted): Promise<ShownAddress[]> {
  return first(client.each<ShownAddress>(addressOperations.list, { id }), (address) => isReached(address, pasted))
}

/** A link, and the short URL that names it. */
interface Reached {
  readonly link: Link
  readonly pasted: Pasted
}

/** Finds the link with this short URL. */
async function findReached(client: Client, text: string): Promise<Reached | undefined> {
  const pasted = parseShortUrl(text)
  if (pasted === null) return undefined
  // A search for a short URL finds only its link, but other links if there is none.
  const search = text.length > maxSearched ? (pasted.aliases[0] ?? '') : text
  const { fields } = searchFor(search, 'alias')
  for await (const link of client.each<Link>(linkOperations.list, { fields: { ...fields, archived: 'any' } })) {
    if (isReached(link, pasted) || (await findFurther(client, link, pasted)).length > 0) return { link, pasted }
  }
  return undefined
}

/** Finds the links with this short URL, or with this alias on one or any domain. */
async function findLinks(client: Client, alias: string, domain: string | undefined): Promise<Reached[]> {
  const text = trimText(alias)
  const pasted = domain === undefined ? await findReached(client, text) : undefined
  if (pasted !== undefined) return [pasted]
  const chosen = domain === undefined ? undefined : await chooseRecord(client, 'domain', domain)
  const domains = chosen === undefined ? client.each<NamedRecord>(domainOperations.list) : [chosen]
  const found = new Map<number, Reached>()
  for await (const { name } of domains) {
    const reached = await findReached(client, `${name}/${encodeAlias(text)}`)
    if (reached !== undefined && !found.has(reached.link.id)) found.set(reached.link.id, reached)
    if (found.size > maxNamed) break
  }
  return [...found.values()]
}

/**
 * Returns the link with this short URL or alias; an alias on any domain by default. Throws `StartupFailure` or, for several
 * links, `WrongUse`.
 */
export async function chooseLink(client: Client, alias: string, domain: string | undefined): Promise<Link> {
  return only(await findLinks(client, alias, domain), alias, domain).link
}

function only(found: readonly Reached[], alias: string, domain: string | undefined): Reached {
  const [reached, ...others] = found
  if (reached !== undefined && others.length > 0) {
    const domains = listSome(found.map(({ pasted }) => pasted.domain))
    throw new WrongUse(`Several domains have a link with the alias ${alias}. Choose one with --domain: ${domains}.`)
  }
  if (reached !== undefined) return reached
  const where = domain === undefined ? '' : ` on ${domain.trim()}`
  throw new StartupFailure(`No link${where} has the alias ${alias}. To see all links, run "${program} links list".`)
}

/** Returns the further address with this short URL or alias, and its link. Throws as `chooseLink` does. */
export async function chooseAddress(client: Client, alias: string, domain: string | undefined) {
  const { link, pasted } = only(await findLinks(client, alias, domain), alias, domain)
  const further = await findFurther(client, link, pasted)
  const exact = further.find((address) => address.alias === pasted.aliases[0])
  const address = exact ?? (isReached(link, pasted) ? undefined : further[0])
  if (address !== undefined) return { link, address }
  throw new StartupFailure(
    `${alias} is the main address of its link. To delete the link, run "${program} links delete".`,
  )
}

/** Returns a link's id by its short URL or alias. A number that is no alias is an id. Throws as `chooseLink` does. */
export async function chooseLinkId(client: Client, link: string): Promise<number> {
  const id = positiveInteger(link)
  const found = await findLinks(client, link, undefined)
  return id !== undefined && found.length === 0 ? id : only(found, link, undefined).link.id
}

function listIds(records: readonly { readonly id: number }[]): string {
  return listSome(records.map(({ id }) => String(id)))
}

function listSome(names: readonly string[]): string {
  return names.length > maxNamed ? `${names.slice(0, maxNamed).join(', ')} and others` : names.join(', ')
}
