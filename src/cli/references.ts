/** The records that arguments name: a domain, a space or a tag by its ID or name, a link by its short URL or alias. */
import { readShortUrlTemplate } from '../config/config.ts'
import { domainRecords, findDomainByName } from '../domains/store.ts'
import { StartupFailure } from '../errors.ts'
import { positiveInteger } from '../forms/rules.ts'
import type { Fields } from '../http/form-encoding.ts'
import { findAddresses } from '../instance/store.ts'
import { trimText } from '../lib/text.ts'
import { addressesOf } from '../links/address-actions.ts'
import type { StoredAddress } from '../links/addresses.ts'
import { findLinkByShortUrl, findPastedAddress } from '../links/link-list.ts'
import type { LinkRow } from '../links/schema.ts'
import { findAddressesByAlias, findLinksByAlias } from '../links/store.ts'
import type { Member } from '../members/schema.ts'
import { memberRecords, membersWithEmail, toMember } from '../members/store.ts'
import { parseHostName } from '../names/host-name.ts'
import { type ShortUrl, shortUrls } from '../names/short-url.ts'
import { spaceRecords, spacesNamed } from '../spaces/store.ts'
import type { Db } from '../storage/port.ts'
import { findTagByName, tagRecords } from '../tags/store.ts'
import { program } from '../version.ts'
import { Refusal } from '../violations.ts'
import { optional, required, text, WrongUse } from './arguments.ts'

/** Returns how this instance writes short URLs. Throws `StartupFailure` if the configuration is invalid. */
export async function ownShortUrls(db: Db): Promise<ShortUrl> {
  const { short_url } = await findAddresses(db)
  return shortUrls(readShortUrlTemplate(short_url))
}

export interface NamedRecord {
  readonly id: number
  readonly name: string
}

const recordsOf = { domain: domainRecords, space: spaceRecords, tag: tagRecords }

export type KindName = keyof typeof recordsOf

/** Records in one error message. */
const maxNamed = 10

/**
 * Returns the account's record with this ID or name. `label` is the subject of error messages. Throws `StartupFailure` or,
 * for several records, `WrongUse`.
 */
export async function chooseRecord(
  db: Db,
  account: number,
  kind: KindName,
  reference: string,
  label = `--${kind}`,
): Promise<NamedRecord> {
  const [name, id] = [trimText(reference), positiveInteger(trimText(reference))]
  const byId = id === undefined ? undefined : await recordsOf[kind].find(db, account, id)
  if (byId !== undefined) return byId.record
  const [record, ...others] = await findNamed(db, account, kind, name, label)
  if (record === undefined) {
    const list = `To see all ${kind}s, run "${program} ${kind}s list".`
    throw new StartupFailure(`${label}: The account has no ${kind} "${name}". ${list}`)
  }
  if (others.length === 0) return record
  const ids = formatSome([record, ...others].map(({ id }) => String(id)))
  throw new WrongUse(`${label}: Several ${kind}s are named ${name}. Use an ID instead: ${ids}.`)
}

/** Lists the account's records with a name. Throws `WrongUse` if it can't be a name. */
async function findNamed(db: Db, account: number, kind: KindName, name: string, label: string): Promise<NamedRecord[]> {
  if (kind === 'space') return spacesNamed(db, account, name, maxNamed + 1)
  if (kind === 'tag') return present(await findTagByName(db, account, name))
  const host = parseHostName(name)
  if (!(host instanceof Refusal)) return present(await findDomainByName(db, account, host.name))
  // No account can have a public suffix.
  if (host.code === 'public_suffix') return []
  throw new WrongUse(`${label}: ${host.at('domain').message}`)
}

function present<T>(record: T | undefined): T[] {
  return record === undefined ? [] : [record]
}

/**
 * Returns the account's member with this ID or email address. `label` is the subject of error messages. Throws
 * `StartupFailure` or, for several members, `WrongUse`.
 */
export async function chooseMember(db: Db, account: number, reference: string, label = 'MEMBER'): Promise<Member> {
  const text = trimText(reference)
  const id = positiveInteger(text)
  const [first, ...others] = id === undefined ? await membersWithEmail(db, account, text, maxNamed + 1) : [id]
  const member = first === undefined ? undefined : await memberRecords.find(db, account, first)
  if (member === undefined) {
    const list = `To see all members, run "${program} members list".`
    throw new StartupFailure(`${label}: The account has no member "${text}". ${list}`)
  }
  if (others.length === 0) return toMember(member.record)
  const ids = formatSome([member.record.id, ...others].map(String))
  throw new WrongUse(`${label}: Several members have the email address ${text}. Use an ID instead: ${ids}.`)
}

const references = { domain_id: 'domain', space_id: 'space', tag_id: 'tag' } as const

/** Replaces the names of domains, spaces and tags by their ids. An empty value clears a field, and 0 means no space. */
export async function withIds(db: Db, account: number, fields: Fields): Promise<Fields> {
  const replaced: Record<string, unknown> = { ...fields }
  for (const [field, kind] of Object.entries(references)) {
    const given = replaced[field]
    if (typeof given !== 'string' || given === '' || given === '0') continue
    const names = kind === 'tag' ? given.split(',') : [given]
    const ids: number[] = []
    for (const name of names) ids.push((await chooseRecord(db, account, kind, name)).id)
    replaced[field] = ids.join(',')
  }
  return replaced
}

export const aliasOperand = required('ALIAS', 'the short URL or its alias (case-insensitive)', text)
export const domainOfAlias = optional(
  'DOMAIN',
  'the domain, by ID or name (optional if only one domain has the alias)',
  text,
)
export const aliasNote = 'Put "--" before an alias that starts with a hyphen.'

/**
 * Returns the link with this short URL or alias; an alias on any domain by default. Throws `StartupFailure` or, for several
 * links, `WrongUse`.
 */
export async function chooseLink(db: Db, account: number, alias: string, domain: string | undefined): Promise<LinkRow> {
  const pasted = domain === undefined ? await findLinkByShortUrl(db, account, trimText(alias)) : undefined
  if (pasted !== undefined) return pasted
  const domainId = domain === undefined ? null : (await chooseRecord(db, account, 'domain', domain)).id
  const [link, ...others] = await findLinksByAlias(db, account, alias, domainId, maxNamed + 1)
  if (link !== undefined && others.length > 0) {
    const domains = formatSome([link, ...others].map(({ domain_name }) => domain_name ?? ''))
    throw new WrongUse(`Several domains have a link with the alias ${alias}. Choose one with --domain: ${domains}.`)
  }
  if (link !== undefined) return link
  const where = domain === undefined ? '' : ` on ${domain.trim()}`
  throw new StartupFailure(`No link${where} has the alias ${alias}. To see all links, run "${program} links list".`)
}

/** Returns the further address with this short URL or alias. Throws as `chooseLink` does. */
export async function chooseAddress(
  db: Db,
  account: number,
  alias: string,
  domain: string | undefined,
): Promise<StoredAddress> {
  const link = await chooseLink(db, account, alias, domain)
  const pasted = domain === undefined ? await findPastedAddress(db, account, trimText(alias)) : undefined
  const onDomain = domain === undefined ? null : (await chooseRecord(db, account, 'domain', domain)).id
  const reached = pasted ?? (await findAddressesByAlias(db, account, alias, onDomain))[0]
  const address = (await addressesOf(db, account, link.id)).find(({ id }) => id === reached?.id)
  if (address !== undefined) return address
  throw new StartupFailure(
    `${alias} is the main address of its link. To delete the link, run "${program} links delete".`,
  )
}

/** Returns the id of a link by its short URL or alias. A number that is no alias is an id. Throws as `chooseLink` does. */
export async function linkIdOf(db: Db, account: number, link: string): Promise<number> {
  const id = positiveInteger(link)
  if (id !== undefined && (await findLinksByAlias(db, account, link, null, 1)).length === 0) return id
  return (await chooseLink(db, account, link, undefined)).id
}

function formatSome(names: readonly string[]): string {
  return names.length > maxNamed ? `${names.slice(0, maxNamed).join(', ')} and others` : names.join(', ')
}
