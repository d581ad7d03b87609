/**
 * The actions of the commands on links. They use the forms, checks and store of the API.
 */
import type { Writable } from 'node:stream'
import { readShortUrlTemplate } from '../config/config.ts'
import { findDomainByName } from '../domains/store.ts'
import { Failure, Refusal, StartupFailure, type Violation } from '../errors.ts'
import { checkListQuery, pageRequestOf } from '../forms/list-query.ts'
import { findAddresses } from '../instance/store.ts'
import { checkedValues } from '../links/checks.ts'
import { type Link, linkOf, listLinksQuery, storeLink } from '../links/schema.ts'
import type { LinkRow } from '../links/store.ts'
import { findLink, findLinkByAlias, insertLink, linksOfAlias, listLinks, removeLink } from '../links/store.ts'
import { parseHostName } from '../names/host-name.ts'
import { type ShortUrl, shortUrls } from '../names/short-url.ts'
import { resources } from '../resources.ts'
import { findSpace, spacesNamed } from '../spaces/store.ts'
import type { Db, Page, Storage } from '../storage/port.ts'
import { chooseAccount } from './accounts.ts'
import { idFrom } from './arguments.ts'
import type { Result, Terminal } from './command.ts'
import { isConfirmed, isTerminal, json, table } from './output.ts'
import { program, WrongUse } from './usage.ts'

type Texts<Name extends string> = { readonly [Key in Name]: string | undefined }

interface Common {
  /** The ID of the account; undefined for the only one. */
  readonly account: number | undefined
  readonly json: boolean
}

/** Stores a link. Returns its short URL or its record. */
export async function create(
  db: Db,
  {
    account: id,
    json: isJson,
    domain,
    space,
    ...texts
  }: Texts<'url' | 'alias' | 'domain' | 'space' | 'title'> & Common,
): Promise<string> {
  const account = await chooseAccount(db, id)
  const domain_id = domain === undefined ? undefined : String(await chooseDomain(db, account, domain))
  const space_id = space === undefined ? undefined : String(await chooseSpace(db, account, space))
  const reading = storeLink.read({ ...texts, domain_id, space_id })
  if (reading.violations.length > 0) throw new WrongUse(formatViolations(reading.violations))
  try {
    const shortUrl = await ownShortUrls(db)
    const { domain, values } = await checkedValues(db, account, reading, shortUrl)
    const { record } = await insertLink(db, account, domain, { ...values, redirect_password: null })
    const link = linkOf(record, shortUrl)
    return isJson ? json(link) : link.short_url
  } catch (error) {
    if (!(error instanceof Failure) || error.facts.violations === undefined) throw error
    throw new StartupFailure(formatViolations(error.facts.violations))
  }
}

/** Returns the newest links that match. */
export async function list(
  storage: Storage,
  {
    account: id,
    json: isJson,
    domain,
    space,
    limit,
    ...texts
  }: Texts<'search' | 'status' | 'domain' | 'space'> & Common & { readonly limit: number },
  err: Writable,
): Promise<string> {
  const account = await chooseAccount(storage, id)
  const domain_id = domain === undefined ? undefined : String(await chooseDomain(storage, account, domain))
  const space_id = space === undefined || space === '0' ? space : String(await chooseSpace(storage, account, space))
  const query = checkListQuery({ ...texts, domain_id, space_id }, listLinksQuery)
  if (query instanceof Failure) throw new WrongUse(formatViolations(query.facts.violations ?? []))
  const page = await listLinks(storage, account, { ...pageRequestOf(query, resources.links), limit })
  if (page.total > page.rows.length) err.write(`${formatShare(page)} Raise --limit, or narrow the list.\n`)
  const shortUrl = await ownShortUrls(storage)
  const links = page.rows.map((row) => linkOf(row, shortUrl))
  return isJson ? json(links) : linkTable(links)
}

/** Returns one link. */
export async function show(
  db: Db,
  { account, json: isJson, alias, domain }: Texts<'domain'> & Common & { readonly alias: string },
): Promise<string> {
  const row = await chooseLink(db, await chooseAccount(db, account), alias, domain)
  const link = linkOf(row, await ownShortUrls(db))
  return isJson ? json(link) : table(Object.entries(link).map(([name, value]) => [name, String(value ?? '-')]))
}

/** Deletes a link. Asks at the terminal first, unless it is null. */
export async function remove(
  db: Db,
  { account: id, alias, domain }: Texts<'domain'> & Omit<Common, 'json'> & { readonly alias: string },
  terminal: Pick<Terminal, 'input' | 'err'> | null,
): Promise<Result> {
  if (terminal !== null && !isTerminal(terminal.input())) {
    throw new WrongUse("Can't ask for confirmation without a terminal. Add --yes to delete without asking.")
  }
  const account = await chooseAccount(db, id)
  const row = await chooseLink(db, account, alias, domain)
  const { short_url, url } = linkOf(row, await ownShortUrls(db))
  const question = `Delete ${short_url}, which redirects to ${url}?`
  const isMeant = terminal === null || (await isConfirmed(question, terminal.input(), terminal.err))
  if (!isMeant) return { text: 'Nothing deleted.', code: 1 }
  if (await removeLink(db, account, row.id, null)) return { text: `The link ${short_url} is deleted.`, code: 0 }
  throw new StartupFailure(`The link ${short_url} is gone already.`)
}

/** Returns how this instance writes short URLs. Throws `StartupFailure` if the configuration is invalid. */
async function ownShortUrls(db: Db): Promise<ShortUrl> {
  const { short_url } = await findAddresses(db)
  return shortUrls(readShortUrlTemplate(short_url))
}

/** Records in one error message. */
const maxNamed = 10

/** Returns the ID of the domain with this name, in any spelling. Throws `StartupFailure` if the account has none. */
async function chooseDomain(db: Db, account: number, text: string): Promise<number> {
  const name = parseHostName(text.trim())
  if (name instanceof Refusal) throw new WrongUse(`--domain: ${name.message}`)
  const domain = await findDomainByName(db, account, name.name)
  if (domain === undefined) throw new StartupFailure(`--domain: The account has no domain ${name.name}.`)
  return domain.id
}

/**
 * Returns the ID of the space with this ID or, in any case, this name. Throws `StartupFailure` if there is none, and
 * `WrongUse` if several have the name.
 */
async function chooseSpace(db: Db, account: number, text: string): Promise<number> {
  const [name, id] = [text.trim(), idFrom(text.trim())]
  if (id !== undefined && (await findSpace(db, account, id)) !== undefined) return id
  const [space, ...others] = await spacesNamed(db, account, name, maxNamed + 1)
  if (space === undefined) throw new StartupFailure(`--space: The account has no space "${name}".`)
  if (others.length === 0) return space.id
  const ids = formatSome([space, ...others].map(({ id }) => String(id)))
  throw new WrongUse(`--space: More than one space is called ${name}. Use one of their IDs instead: ${ids}.`)
}

/**
 * Returns the link with this alias on this domain or, without a domain, on the only domain with the alias. Throws
 * `StartupFailure` if there is none, and `WrongUse` if several domains have it.
 */
async function chooseLink(db: Db, account: number, alias: string, domain: string | undefined): Promise<LinkRow> {
  const found = domain === undefined ? await onlyLink(db, account, alias) : await linkOn(db, account, alias, domain)
  if (found !== undefined) return found
  const place = domain === undefined ? '' : ` on ${domain.trim()}`
  throw new StartupFailure(`There is no link ${alias}${place}. "${program} links list" shows the links.`)
}

async function linkOn(db: Db, account: number, alias: string, domain: string): Promise<LinkRow | undefined> {
  return (await findLinkByAlias(db, account, await chooseDomain(db, account, domain), alias))?.record
}

async function onlyLink(db: Db, account: number, alias: string): Promise<LinkRow | undefined> {
  const [link, ...others] = await linksOfAlias(db, account, alias, maxNamed + 1)
  if (others.length === 0) return link && (await findLink(db, account, link.id))?.record
  const domains = formatSome([link, ...others].map((each) => each?.domain_name ?? ''))
  throw new WrongUse(`More than one domain has a link ${alias}. Add --domain with one of them: ${domains}.`)
}

function formatSome(names: readonly string[]): string {
  return names.length > maxNamed ? `${names.slice(0, maxNamed).join(', ')} and others` : names.join(', ')
}

/** Fields whose arguments have other names. */
const argumentNames: Readonly<Record<string, string>> = { url: 'URL', domain_id: '--domain', space_id: '--space' }

function formatViolations(violations: readonly Violation[]): string {
  return violations.map(({ field, message }) => `${argumentNames[field] ?? `--${field}`}: ${message}`).join('\n')
}

function formatShare({ rows, total, totalIsExact }: Page<unknown>): string {
  return `${rows.length} of ${totalIsExact ? total : `more than ${total}`} links are shown.`
}

/** Characters of a title in the table. */
const maxShownTitle = 40

function linkTable(links: readonly Link[]): string {
  const lines = links.map(({ id, short_url, status, clicks, title, url }) => [
    String(id),
    short_url,
    status,
    String(clicks),
    shorten(title ?? ''),
    url,
  ])
  return table([['ID', 'SHORT URL', 'STATUS', 'CLICKS', 'TITLE', 'URL'], ...lines])
}

function shorten(text: string): string {
  const characters = [...text]
  return characters.length <= maxShownTitle ? text : `${characters.slice(0, maxShownTitle - 1).join('')}…`
}
