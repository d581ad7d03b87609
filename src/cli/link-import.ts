/** Imports links from CSV as the dashboard does: all rows are checked before any link is stored. */
import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { type CheckedRow, checkRows, isReady, parseFile, type ReadyRow, textOfFile } from '../dashboard/import-file.ts'
import { Failure, StartupFailure } from '../errors.ts'
import { maxBulkLinks } from '../links/bulk.ts'
import { maxRows } from '../links/bulk-schema.ts'
import { storeNewLinks } from '../links/new-links.ts'
import { type Link, linkOf, storeLink } from '../links/schema.ts'
import { findLinkDomain } from '../links/store.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Storage } from '../storage/port.ts'
import { chooseAccount } from './accounts.ts'
import { account, flag, optional, optionalFile, text } from './arguments.ts'
import { recordCommand, type Terminal, wrapped } from './command.ts'
import { noDomain } from './form-options.ts'
import { linkActions } from './links.ts'
import { isTerminal, json, printable, table, withProgress } from './output.ts'
import { ownShortUrls, withIds } from './references.ts'
import { readFailure } from './transfer.ts'

const columns = Object.keys(storeLink.fields).join(', ')
const count = (links: number, noun = 'link') => `${links.toLocaleString('en-US')} ${noun}${links === 1 ? '' : 's'}`

export const linkImportCommand = recordCommand({
  summary: 'Check a CSV file of new links, and create them with --yes.',
  arguments: {
    operand: optionalFile('the file (default, or if "-": standard input)'),
    domain: optional('DOMAIN', 'the domain of rows without one, by ID or name (default: your oldest domain)', text),
    space: optional('SPACE', 'the space of rows without one, by ID or name', text),
    yes: flag('create the links; without it, the command only shows the links and every error'),
    'skip-errors': flag('with --yes: create the other links if rows have errors'),
    'skip-unknown': flag('leave out columns with unknown names'),
    account,
    json: flag('print "stored", "links" and "errors" as JSON, with the row of each link and error'),
  },
  notes: wrapped(
    `The first row names the columns: ${columns}. The names of the dashboard work, too. Only "url" is required, and a list of URLs needs no names. A domain is a host name, a space its name, and tags have commas between them. Commas, semicolons or tabs separate the cells. A file has up to ${count(maxBulkLinks)}. Each ${count(maxRows)} are one transaction.`,
    0,
  ),
  run: async (db, { operand: file, domain, space, account: id, ...options }, terminal) => {
    const account = await chooseAccount(db, id)
    const shortUrl = await ownShortUrls(db)
    const place = await withIds(db, account, { domain_id: domain, space_id: space })
    const parsed = await parse(db, account, await readBytes(file, terminal), options['skip-unknown'])
    const defaults = { account, domain_id: place.domain_id, space_id: place.space_id }
    const rows = await checkRows(parsed, defaults, { storage: db, shortUrl })
    const ready = rows.filter(isReady)
    const failed = rows.length - ready.length
    const stored = options.yes && ready.length > 0 && (failed === 0 || options['skip-errors'])
    const links = stored
      ? await store(db, account, ready, shortUrl, terminal)
      : ready.map((row) => planned(row, shortUrl))
    const errors = rows.flatMap(errorsOf)
    const code = failed === 0 ? 0 : 1
    if (options.json) return { text: json({ stored, links, errors }), code }
    const lines = links.map(({ row, short_url, url }) => [String(row), short_url, url])
    if (links.length > 0) terminal.out.write(`${table([['ROW', 'SHORT URL', 'URL'], ...lines])}\n\n`)
    // A long list would push errors off the screen.
    for (const { row, column, message } of errors) {
      terminal.err.write(`Row ${row}, column ${column}: ${printable(message).replaceAll('\n', ' ')}\n`)
    }
    return { text: summarize({ links: links.length, failed, stored }), code }
  },
})

async function readBytes(file: string | undefined, { input, err }: Terminal): Promise<Buffer> {
  if (file !== undefined) {
    return readFile(file).catch((error) => {
      throw readFailure(file, error)
    })
  }
  const source = input()
  if (isTerminal(source)) err.write('Reading rows from the terminal. End them with Ctrl-D, or pass a file.\n')
  return buffer(source)
}

/** Parses the file. Throws `StartupFailure` if that is impossible. */
async function parse(db: Storage, account: number, bytes: Buffer, skipsUnknown: boolean) {
  const content = textOfFile(bytes)
  if (content === null) throw new StartupFailure('This is not a text file. Save the table as CSV in your spreadsheet.')
  if ((await findLinkDomain(db, account, null)) === undefined) throw new StartupFailure(noDomain)
  const options = { storage: db, account, skipsUnknown, isUnpacked: false, mostRows: maxBulkLinks }
  const parsed = await parseFile(content, options)
  if (typeof parsed !== 'string') return parsed
  const hint = parsed.includes('leave out unknown columns') ? ' To leave them out, add --skip-unknown.' : ''
  throw new StartupFailure(parsed + hint)
}

/** Returns the link as it would be stored, in which `…` stands for a generated alias. */
function planned({ row, link: { domain, values } }: ReadyRow, shortUrl: ShortUrl) {
  const short_url = shortUrl(domain.name, values.alias ?? '…').replace(encodeURIComponent('…'), '…')
  return { row: row.number, short_url, ...values }
}

type StoredLink = Link & { readonly row: number }

/** Stores the links. Throws `StartupFailure` with the stored rows if one can't be stored after all. */
async function store(db: Storage, account: number, ready: readonly ReadyRow[], shortUrl: ShortUrl, { err }: Terminal) {
  const actions = linkActions(db, shortUrl)
  return withProgress(err, async (progress) => {
    const stored: StoredLink[] = []
    for (let at = 0; at < ready.length; at += maxRows) {
      progress.show(() => `${stored.length} of ${count(ready.length)} created`)
      const some = ready.slice(at, at + maxRows)
      const fields = some.map((row) => row.fields)
      const { links } = await storeNewLinks(db, actions, account, fields).catch((error) => {
        if (!(error instanceof Failure)) throw error
        const last = stored.length === 0 ? 'No link was' : `The links up to row ${stored.at(-1)?.row} were`
        throw new StartupFailure(`${error.message} ${last} created. Import the other rows again.`)
      })
      stored.push(...links.map((link, n) => ({ row: (some[n] as ReadyRow).row.number, ...linkOf(link, shortUrl) })))
    }
    return stored
  })
}

/** Returns the errors of a row. A name of a domain or a space that the account doesn't have is an error of its column. */
function errorsOf({ row, fields, link }: CheckedRow) {
  if (!('violations' in link)) return []
  return link.violations.map(({ field, code, message }) => {
    const kind = field === 'domain_id' ? 'domain' : field === 'space_id' ? 'space' : null
    const name = String(fields[field] ?? '')
    const sentence = kind === null || name === '' ? message : `The account has no ${kind} "${name}".`
    return { row: row.number, column: field, code, message: sentence }
  })
}

function summarize({ links, failed, stored }: { links: number; failed: number; stored: boolean }): string {
  const rows = `${count(failed, 'row')} ${failed === 1 ? 'has' : 'have'} errors`
  if (stored) return `Created ${count(links)}.${failed === 0 ? '' : ` ${rows}.`}`
  if (failed === 0) return `${count(links)} can be created. Nothing is stored yet: add --yes to create them.`
  const others = links === 0 ? '' : `, or add --yes --skip-errors to create the other ${count(links)}`
  return `Nothing was stored, because ${rows}. Correct the file${others}.`
}
