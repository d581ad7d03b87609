/** The commands on links. They use the forms, checks and store of the API. */
import { readShortUrlTemplate } from '../config/config.ts'
import { findDomainByName } from '../domains/store.ts'
import { Failure, StartupFailure } from '../errors.ts'
import { pageRequestOf } from '../forms/list-query.ts'
import { findAddresses } from '../instance/store.ts'
import { checkedValues } from '../links/actions.ts'
import { type DestinationWarning, destinationWarnings } from '../links/destination-warnings.ts'
import { statuses } from '../links/link.ts'
import { findLinkByShortUrl, listLinks } from '../links/link-list.ts'
import { type Link, type LinkRow, linkOf, listLinksQuery, storeLink } from '../links/schema.ts'
import { findLinksByAlias, insertLink, removeLink } from '../links/store.ts'
import { parseHostName } from '../names/host-name.ts'
import { type ShortUrl, shortUrls } from '../names/short-url.ts'
import { resources } from '../resources.ts'
import { spaceRecords, spacesNamed } from '../spaces/store.ts'
import type { Db } from '../storage/port.ts'
import { program } from '../version.ts'
import { Refusal, type Violation } from '../violations.ts'
import { chooseAccount } from './accounts.ts'
import { accountId, flag, idFrom, limit, optional, required, text, WrongUse, withDefault } from './arguments.ts'
import { recordCommand } from './command.ts'
import { isConfirmed, isTerminal, json, table } from './output.ts'

const account = optional('ID', 'the account (optional if there is only one)', accountId)
const domain = optional('NAME', 'the domain (optional if only one domain has the alias)', text)
const alias = required('ALIAS', 'the short URL or its alias (case-insensitive)', text)
const notes = 'Put "--" before an alias that starts with a hyphen.'

export const linkCommands = {
  create: recordCommand({
    summary: 'Create a short link and print its short URL.',
    arguments: {
      operand: required('URL', 'the destination', text),
      alias: optional('ALIAS', 'the path of the short URL (default: generated)', text),
      domain: optional('NAME', "the domain (default: the account's oldest domain)", text),
      space: optional('SPACE', 'the space, by ID or name', text),
      title: optional('TEXT', 'a title, which visitors never see', text),
      account,
      json: flag('print the full record as JSON'),
    },
    run: async (db, { operand: url, alias, domain, space, title, account: id, json: isJson }, { err }) => {
      const account = await chooseAccount(db, id)
      const domain_id = domain === undefined ? undefined : String(await chooseDomain(db, account, domain))
      const space_id = space === undefined ? undefined : String(await chooseSpace(db, account, space))
      const reading = storeLink.read({ url, alias, title, domain_id, space_id })
      if (reading.violations.length > 0) throw new WrongUse(formatViolations(reading.violations))
      try {
        const shortUrl = await ownShortUrls(db)
        const { domain, values } = await checkedValues(db, account, reading, shortUrl)
        const { record } = await insertLink(db, account, domain, { ...values, redirect_password: null })
        const warnings = await destinationWarnings(db, account, record, shortUrl)
        for (const warning of warnings) err.write(`${formatWarning(warning)}\n`)
        const link = linkOf(record, shortUrl)
        return isJson ? json(link) : link.short_url
      } catch (error) {
        if (!(error instanceof Failure) || error.facts.violations === undefined) throw error
        throw new StartupFailure(formatViolations(error.facts.violations))
      }
    },
  }),

  list: recordCommand({
    summary: 'List the links, newest first.',
    arguments: {
      search: optional(
        'TEXT',
        'only links with all these words in the alias, title or URL, or the link with this short URL',
        text,
      ),
      domain: optional('NAME', 'only links on this domain', text),
      space: optional('SPACE', 'only links in the space with this ID or name; 0: only links without a space', text),
      status: optional('STATUS', `only links with this status: ${statuses.join(', ')}`, text),
      limit: withDefault('N', 'how many to show, from 1 to 1000 (default 25)', '25', limit),
      account,
      json: flag('print the records as JSON'),
    },
    run: async (storage, { search, domain, space, status, limit, account: id, json: isJson }, { err }) => {
      const account = await chooseAccount(storage, id)
      const domain_id = domain === undefined ? undefined : String(await chooseDomain(storage, account, domain))
      const space_id = space === undefined || space === '0' ? space : String(await chooseSpace(storage, account, space))
      const query = listLinksQuery.check({ search, status, domain_id, space_id })
      if (query instanceof Failure) throw new WrongUse(formatViolations(query.facts.violations ?? []))
      const request = { ...pageRequestOf(query, resources.links), limit }
      const { rows, total, totalIsExact } = await listLinks(storage, account, request)
      if (total > rows.length) {
        const all = totalIsExact ? total : `more than ${total}`
        err.write(`Showing ${rows.length} of ${all} links. Raise --limit, or add a filter.\n`)
      }
      const shortUrl = await ownShortUrls(storage)
      const links = rows.map((row) => linkOf(row, shortUrl))
      return isJson ? json(links) : linkTable(links)
    },
  }),

  show: recordCommand({
    summary: 'Show a link.',
    arguments: { operand: alias, domain, account, json: flag('print the record as JSON') },
    notes,
    run: async (db, { operand: alias, domain, account, json: isJson }) => {
      const row = await chooseLink(db, await chooseAccount(db, account), alias, domain)
      const link = linkOf(row, await ownShortUrls(db))
      return isJson ? json(link) : table(Object.entries(link).map(([name, value]) => [name, String(value ?? '-')]))
    },
  }),

  delete: recordCommand({
    summary: 'Delete a link permanently. Running servers stop redirecting it within a second.',
    arguments: {
      operand: alias,
      domain,
      yes: flag('delete without asking (required without a terminal)'),
      account,
    },
    notes,
    run: async (db, { operand: alias, domain, account: id, yes }, { input, err }) => {
      if (!yes && !isTerminal(input())) {
        throw new WrongUse("Can't ask for confirmation without a terminal. Add --yes to delete without asking.")
      }
      const account = await chooseAccount(db, id)
      const row = await chooseLink(db, account, alias, domain)
      const { short_url, url } = linkOf(row, await ownShortUrls(db))
      const question = `Delete ${short_url}, which redirects to ${url}?`
      if (!yes && !(await isConfirmed(question, input(), err))) return { text: 'Nothing deleted.', code: 1 }
      if (await removeLink(db, account, row.id, null)) return `The link ${short_url} was deleted.`
      throw new StartupFailure(`The link ${short_url} was already deleted.`)
    },
  }),
}

/** Returns how this instance writes short URLs. Throws `StartupFailure` if the configuration is invalid. */
export async function ownShortUrls(db: Db): Promise<ShortUrl> {
  const { short_url } = await findAddresses(db)
  return shortUrls(readShortUrlTemplate(short_url))
}

/** Records in one error message. */
const maxNamed = 10

/** Returns the ID of the domain with this name, in any spelling. Throws `StartupFailure` if the account has none. */
async function chooseDomain(db: Db, account: number, text: string): Promise<number> {
  const name = parseHostName(text.trim())
  // No account can have a public suffix.
  if (name instanceof Refusal && name.code === 'public_suffix') throw noDomain(text.trim())
  if (name instanceof Refusal) throw new WrongUse(formatViolations([name.at('domain')]))
  const domain = await findDomainByName(db, account, name.name)
  if (domain === undefined) throw noDomain(name.name)
  return domain.id
}

function noDomain(name: string): StartupFailure {
  return new StartupFailure(`--domain: The account has no domain ${name}.`)
}

/** Returns the ID of the space with this ID or name. Throws `StartupFailure` or, for several spaces, `WrongUse`. */
async function chooseSpace(db: Db, account: number, text: string): Promise<number> {
  const [name, id] = [text.trim(), idFrom(text.trim())]
  if (id !== undefined && (await spaceRecords.find(db, account, id)) !== undefined) return id
  const [space, ...others] = await spacesNamed(db, account, name, maxNamed + 1)
  if (space === undefined) throw new StartupFailure(`--space: The account has no space "${name}".`)
  if (others.length === 0) return space.id
  const ids = formatSome([space, ...others].map(({ id }) => String(id)))
  throw new WrongUse(`--space: Several spaces are named ${name}. Use an ID instead: ${ids}.`)
}

/**
 * Returns the link with this short URL or alias; an alias on any domain by default. Throws `StartupFailure` or, for several
 * links, `WrongUse`.
 */
async function chooseLink(db: Db, account: number, alias: string, domain: string | undefined): Promise<LinkRow> {
  const pasted = domain === undefined ? await findLinkByShortUrl(db, account, alias.trim()) : undefined
  if (pasted !== undefined) return pasted
  const domainId = domain === undefined ? null : await chooseDomain(db, account, domain)
  const [link, ...others] = await findLinksByAlias(db, account, alias, domainId, maxNamed + 1)
  if (link !== undefined && others.length > 0) {
    const domains = formatSome([link, ...others].map(({ domain_name }) => domain_name ?? ''))
    throw new WrongUse(`Several domains have a link with the alias ${alias}. Choose one with --domain: ${domains}.`)
  }
  if (link !== undefined) return link
  const place = domain === undefined ? '' : ` on ${domain.trim()}`
  throw new StartupFailure(`No link${place} has the alias ${alias}. To see all links, run "${program} links list".`)
}

function formatSome(names: readonly string[]): string {
  return names.length > maxNamed ? `${names.slice(0, maxNamed).join(', ')} and others` : names.join(', ')
}

/** Fields whose arguments have other names. */
const argumentNames: Readonly<Record<string, string>> = { url: 'URL', domain_id: '--domain', space_id: '--space' }

function formatViolations(violations: readonly Violation[]): string {
  return violations.map(({ field, message }) => `${argumentNames[field] ?? `--${field}`}: ${message}`).join('\n')
}

/** Formats the sentence that the dashboard shows, too. */
function formatWarning(warning: DestinationWarning): string {
  if (warning.kind === 'own_short_link')
    return `Check the destination: ${warning.shortUrl} is one of your own short links.`
  const { host, last } = warning
  return `Check the destination: ${host} ends in ".${last}", which isn't a known top-level domain.`
}

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

function shorten(title: string): string {
  const characters = [...title]
  return characters.length <= 40 ? title : `${characters.slice(0, 39).join('')}…`
}
