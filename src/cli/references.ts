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
import { parseShortUrl } from '../names/short-url.ts'
import { spaceOperations } from '../spaces/operations.ts'
import { tagOperations } from '../tags/operations.ts'
import { program } from '../version.ts'
import { Refusal } from '../violations.ts'
import { optional, required, text, WrongUse } from './arguments.ts'
import type { Client } from './client.ts'
import type { Arguments } from './command.ts'
import { optionName } from './form-options.ts'

export interface NamedRecord {
  readonly id: number
  readonly name: string
  /** The number of links. Only tags have it. */
  readonly links?: number
}

/** The record that a command is about, and the arguments that name it. */
export interface Subject<R> {
  readonly arguments: Arguments
  readonly notes?: string
  /** Returns the record. Throws `StartupFailure`, or `WrongUse` if several have the name. */
  readonly choose: (client: Client, values: Readonly<Record<string, string>>) => Promise<R>
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

const references = { domain_id: 'domain', space_id: 'space', tag_id: 'tag', into: 'tag' } as const

/** Replaces names by ids, for domains, spaces and tags. An empty value clears a field, and 0 means no space. */
export async function withIds(client: Client, fields: Fields): Promise<Fields> {
  const replaced: Record<string, unknown> = { ...fields }
  for (const [field, kind] of Object.entries(references)) {
    const given = replaced[field]
    if (typeof given !== 'string' || given === '' || given === '0') continue
    const names = kind === 'tag' ? given.split(',') : [given]
    const ids: number[] = []
    for (const name of names) ids.push((await chooseRecord(client, kind, name, `--${optionName(field)}`)).id)
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
/** The record that the argument without a name chooses by its ID or name. */
export function groupSubject(kind: KindName): Subject<NamedRecord> {
  const label = kind.toUpperCase()
  return {
    arguments: { operand: required(label, `the ID or name of the ${kind}`, text) },
    choose: (client, { operand = '' }) => chooseRecord(client, kind, operand, label),
  }
}

/** The member that the argument without a name chooses by ID or email address. */
export const memberSubject: Subject<Member> = {
  arguments: { operand: required('MEMBER', 'the ID or email address of the member', text) },
  choose: (client, { operand = '' }) => chooseMember(client, operand),
}

export const aliasNote = 'Put "--" before an alias that starts with a hyphen.'

/** The link that the argument without a name chooses by its short URL or alias. */
export const linkSubject = {
  arguments: { operand: aliasOperand, domain: domainOption },
  notes: aliasNote,
  choose: (client, { operand: alias = '', domain }) => chooseLink(client, alias, domain),
} satisfies Subject<Link>

/** Finds the links with this short URL, or with this alias on one or any domain. */
async function findLinks(client: Client, alias: string, domain: string | undefined): Promise<readonly Link[]> {
  const { id } = domain === undefined ? {} : await chooseRecord(client, 'domain', domain)
  const fields = { alias, archived: 'any', sort: 'asc', ...(id && { domain_id: String(id) }) }
  return (await client.list<Link>(linkOperations.list, maxNamed + 1, { fields })).rows
}

/**
 * Returns the link with this short URL or alias; an alias on any domain by default. Throws `StartupFailure` or, for several
 * links, `WrongUse`.
 */
export async function chooseLink(client: Client, alias: string, domain?: string): Promise<Link> {
  return requireOne(await findLinks(client, alias, domain), alias, domain)
}

function requireOne(links: readonly Link[], alias: string, domain: string | undefined): Link {
  const [link, ...others] = links
  if (link !== undefined && others.length > 0) {
    const domains = listSome(links.map(({ short_url }) => new URL(short_url).hostname))
    throw new WrongUse(`Several domains have a link with the alias ${alias}. Choose one with --domain: ${domains}.`)
  }
  if (link !== undefined) return link
  const where = domain === undefined ? '' : ` on ${domain.trim()}`
  throw new StartupFailure(`No link${where} has the alias ${alias}. To see all links, run "${program} links list".`)
}

/** Returns the further address with this short URL or alias, and its link. Throws as `chooseLink` does. */
export async function chooseAddress(client: Client, alias: string, domain?: string) {
  const link = await chooseLink(client, alias, domain)
  const { id } = domain === undefined ? {} : await chooseRecord(client, 'domain', domain)
  const pasted = domain === undefined ? parseShortUrl(trimText(alias)) : null
  const aliases = pasted?.aliases ?? [trimText(alias)]
  const isNamed = (address: Pick<ShownAddress, 'alias' | 'exact' | 'domain_id' | 'short_url'>) =>
    (id === undefined || address.domain_id === id) &&
    (pasted === null || new URL(address.short_url).hostname === pasted.domain) &&
    aliases.some((text) => text === address.alias || (!address.exact && foldCase(text) === foldCase(address.alias)))
  const all = await Array.fromAsync(client.each<ShownAddress>(addressOperations.list, { id: link.id }))
  const named = all.filter(isNamed)
  const spelled = named.find((address) => aliases.includes(address.alias))
  const address = spelled ?? (isNamed(link) ? undefined : named[0])
  if (address !== undefined) return { link, address }
  throw new StartupFailure(
    `${alias} is the main address of its link. To delete the link, run "${program} links delete".`,
  )
}

/** Returns a link's id by its short URL or alias. A number that is no alias is an id. Throws as `chooseLink` does. */
export async function chooseLinkId(client: Client, link: string): Promise<number> {
  const id = positiveInteger(link)
  const links = await findLinks(client, link, undefined)
  return id !== undefined && links.length === 0 ? id : requireOne(links, link, undefined).id
}

function listIds(records: readonly { readonly id: number }[]): string {
  return listSome(records.map(({ id }) => String(id)))
}

function listSome(names: readonly string[]): string {
  return names.length > maxNamed ? `${names.slice(0, maxNamed).join(', ')} and others` : names.join(', ')
}
