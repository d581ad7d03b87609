/**
 * The work of the commands on links: the same form, checks and store as the API's.
 */
import type { Writable } from 'node:stream'
import { Failure, StartupFailure, type Violation } from '../errors.ts'
import { checkListQuery, pageRequestOf } from '../forms/list-query.ts'
import { checkedValues } from '../links/checks.ts'
import { type Link, listLinksQuery, storeLink } from '../links/schema.ts'
import { linkOf } from '../links/shown.ts'
import { insertLink, listLinks, removeLink } from '../links/store.ts'
import { resources } from '../resources.ts'
import type { Db, Page, Storage } from '../storage/port.ts'
import { chosenAccount } from './chosen-account.ts'
import { chosenDomain, chosenLink, chosenSpace } from './chosen-link.ts'
import { json, type Printed, type Surroundings, WrongUse } from './command.ts'
import { isConfirmed } from './confirm.ts'
import { isTerminal } from './progress.ts'
import { ownShortUrls } from './short-urls.ts'
import { table } from './table.ts'

type Texts<Name extends string> = { readonly [Key in Name]: string | undefined }

/** Stores a link and prints its short URL. */
export async function create(
  db: Db,
  named: number | undefined,
  { domain, space, ...texts }: Texts<'url' | 'alias' | 'domain' | 'space' | 'title'>,
  isJson: boolean,
): Promise<string> {
  const account = await chosenAccount(db, named)
  const domain_id = domain === undefined ? undefined : String(await chosenDomain(db, account, domain))
  const space_id = space === undefined ? undefined : String(await chosenSpace(db, account, space))
  const reading = storeLink.read({ ...texts, domain_id, space_id })
  if (reading.violations.length > 0) throw new WrongUse(sentencesOf(reading.violations))
  try {
    const shortUrl = await ownShortUrls(db)
    const { domain, values } = await checkedValues(db, account, reading, shortUrl)
    const { record } = await insertLink(db, account, domain, { ...values, redirect_password: null })
    const link = linkOf(record, shortUrl)
    return isJson ? json(link) : link.short_url
  } catch (error) {
    if (!(error instanceof Failure) || error.facts.violations === undefined) throw error
    throw new StartupFailure(sentencesOf(error.facts.violations))
  }
}

/** What the API calls a field, and the command line calls it. */
const written: Readonly<Record<string, string>> = { url: 'URL', domain_id: '--domain', space_id: '--space' }

function sentencesOf(violations: readonly Violation[]): string {
  return violations.map(({ field, message }) => `${written[field] ?? `--${field}`}: ${message}`).join('\n')
}

/** Prints the newest links that were asked for. */
export async function list(
  storage: Storage,
  named: number | undefined,
  { domain, space, limit, ...texts }: Texts<'search' | 'status' | 'domain' | 'space'> & { readonly limit: number },
  { isJson, err }: { readonly isJson: boolean; readonly err: Writable },
): Promise<string> {
  const account = await chosenAccount(storage, named)
  const domain_id = domain === undefined ? undefined : String(await chosenDomain(storage, account, domain))
  const space_id = space === undefined || space === '0' ? space : String(await chosenSpace(storage, account, space))
  const query = checkListQuery({ ...texts, domain_id, space_id }, listLinksQuery)
  if (query instanceof Failure) throw new WrongUse(sentencesOf(query.facts.violations ?? []))
  const page = await listLinks(storage, account, { ...pageRequestOf(query, resources.links), limit })
  if (page.total > page.rows.length) err.write(`${shareOf(page)} Raise --limit, or narrow the list.\n`)
  const shortUrl = await ownShortUrls(storage)
  const links = page.rows.map((row) => linkOf(row, shortUrl))
  return isJson ? json(links) : linkTable(links)
}

function shareOf({ rows, total, totalIsExact }: Page<unknown>): string {
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
    shortened(title ?? ''),
    url,
  ])
  return table([['ID', 'SHORT URL', 'STATUS', 'CLICKS', 'TITLE', 'URL'], ...lines])
}

function shortened(text: string): string {
  const characters = [...text]
  return characters.length <= maxShownTitle ? text : `${characters.slice(0, maxShownTitle - 1).join('')}…`
}

/** Prints one link. */
export async function show(
  db: Db,
  named: number | undefined,
  { alias, domain }: { readonly alias: string } & Texts<'domain'>,
  isJson: boolean,
): Promise<string> {
  const row = await chosenLink(db, await chosenAccount(db, named), alias, domain)
  const link = linkOf(row, await ownShortUrls(db))
  return isJson ? json(link) : table(Object.entries(link).map(([name, value]) => [name, String(value ?? '-')]))
}

/** Deletes one link. `asking` is where to ask first; null: not at all. */
export async function remove(
  db: Db,
  named: number | undefined,
  { alias, domain }: { readonly alias: string } & Texts<'domain'>,
  asking: Pick<Surroundings, 'input' | 'err'> | null,
): Promise<Printed> {
  if (asking !== null && !isTerminal(asking.input())) {
    throw new WrongUse('--yes is missing: there is no terminal to ask at.')
  }
  const account = await chosenAccount(db, named)
  const row = await chosenLink(db, account, alias, domain)
  const { short_url, url } = linkOf(row, await ownShortUrls(db))
  const question = `Delete ${short_url}, which leads to ${url}?`
  const isMeant = asking === null || (await isConfirmed(question, asking.input(), asking.err))
  if (!isMeant) return { text: 'Nothing is deleted.', code: 1 }
  if (await removeLink(db, account, row.id, null)) return { text: `The link ${short_url} is deleted.`, code: 0 }
  throw new StartupFailure(`The link ${short_url} is gone already.`)
}
