/** The commands that write links to files, and read them from files: exports, QR codes and imports. */

import { readFile, writeFile } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { Actor } from '../access/actor.ts'
import { quantity } from '../dashboard/parts/format.ts'
import { withHttps } from '../dashboard/scripts/destination.js'
import { Failure, StartupFailure } from '../errors.ts'
import { writeWhole } from '../lib/whole-file.ts'
import { type RunBatch, runBatch } from '../links/batch.ts'
import { maxRows } from '../links/bulk-schema.ts'
import { exportQuery, linkFile } from '../links/export.ts'
import {
  type CheckedRow,
  checkRows,
  type ImportFile,
  isReady,
  isStored,
  parseFile,
  type ReadyRow,
} from '../links/import-file.ts'
import { textOfFile } from '../links/import-rows.ts'
import { maxBulkLinks } from '../links/link.ts'
import { storeNewLinks } from '../links/new-links.ts'
import { drawnAddress, drawQr, qrQuery } from '../links/qr.ts'
import { type Link, linkLabels, storeLink } from '../links/schema.ts'
import { findLinkDomain } from '../links/store.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { findQrStyle } from '../qr/store.ts'
import type { Storage } from '../storage/port.ts'
import { accountCommand } from './accounts.ts'
import { openActions } from './actions.ts'
import { flag, optional, optionalFile, text, WrongUse } from './arguments.ts'
import { type Terminal, wrapped } from './command.ts'
import { checkedFields, formatViolations, givenFields, noDomain, optionsOf, submit } from './form-options.ts'
import { isTerminal, json, printable, table, withProgress } from './output.ts'
import { aliasNote, aliasOperand, chooseLink, domainOfAlias, ownShortUrls, withIds } from './references.ts'
import { exportFile, force, readFailure, writeExport } from './transfer.ts'

const columns = Object.keys(storeLink.fields).join(', ')

export const linkFileCommands = {
  import: accountCommand({
    summary: 'Check a CSV file of new links, and create them with --yes.',
    arguments: {
      operand: optionalFile('the file (default, or if "-": standard input)'),
      domain: optional('DOMAIN', 'the domain of rows without one, by ID or name (default: your oldest domain)', text),
      space: optional('SPACE', 'the space of rows without one, by ID or name', text),
      yes: flag('create the links; without it, the command only shows the links and every error'),
      'skip-errors': flag('with --yes: create the other links if rows have errors'),
      'skip-existing': flag('leave out rows whose alias exists already'),
      'skip-unknown': flag('leave out columns with unknown names'),
      json: flag('print "stored", "links" and "errors" as JSON, with the row of each link and error'),
    },
    notes: wrapped(
      `The first row names the columns: ${columns}. The names of the dashboard work, too. Only "url" is required, and a list of URLs needs no names. A domain is a host name, a space its name, and tags have commas between them. Commas, semicolons or tabs separate the cells. Times such as 2026-12-31 18:00 are in the time zone of the account. A date without a time starts a link at the beginning of that day, and stops it at the end. A file has up to ${quantity(maxBulkLinks, 'link')}. Each ${quantity(maxRows, 'link')} are one transaction.`,
      0,
    ),
    run: async (db, { operand: file, domain, space, account, actor, ...options }, terminal) => {
      const shortUrl = await ownShortUrls(db)
      const ids = await withIds(db, account, { domain_id: domain, space_id: space })
      const parsed = await parse(db, account, await readBytes(file, terminal), options['skip-unknown'])
      const defaults = { account, domain_id: ids.domain_id, space_id: ids.space_id }
      const all = await checkRows(parsed, defaults, {
        storage: db,
        rules: (await openActions(db)).actions.links.rules,
        completeUrl: withHttps,
      })
      const rows = options['skip-existing'] ? all.filter((row) => !isStored(row)) : all
      const existing = all.length - rows.length
      const ready = rows.filter(isReady)
      const failed = rows.length - ready.length
      const stored = options.yes && ready.length > 0 && (failed === 0 || options['skip-errors'])
      const links = stored ? await store(db, actor, ready, terminal) : ready.map((row) => planned(row, shortUrl))
      const errors = rows.flatMap((row) => errorsOf(row, parsed))
      const code = failed === 0 ? 0 : 1
      if (options.json) return { text: json({ stored, links, errors }), code }
      const lines = links.map(({ row, short_url, url }) => [String(row), short_url, url])
      if (links.length > 0) terminal.out.write(`${table([['ROW', 'SHORT URL', 'URL'], ...lines])}\n\n`)
      // A long list would push errors off the screen.
      for (const { row, column, message } of errors) {
        terminal.err.write(
          `Row ${row}${column === null ? '' : `, column ${printable(column)}`}: ${printable(message).replaceAll('\n', ' ')}\n`,
        )
      }
      const leftOut = existing === 0 ? '' : ` ${quantity(existing, 'row')} left out, whose alias exists already.`
      const areTaken = rows.every((row) => isReady(row) || isStored(row))
      return { text: summarize(links.length, failed, stored, areTaken) + leftOut, code }
    },
  }),

  export: accountCommand({
    summary: 'Write links to a CSV or JSON Lines file, with the filters of a list.',
    arguments: { operand: exportFile, ...optionsOf(exportQuery), force },
    run: async (db, { operand: file, account, actor: _, force, ...options }, terminal) => {
      const query = checkedFields(exportQuery, await withIds(db, account, givenFields(exportQuery, options)))
      return writeExport(linkFile(db, account, query, await ownShortUrls(db)), file, force, terminal)
    },
  }),

  qr: accountCommand({
    summary: 'Draw the QR code of a link as SVG or PNG, in the style of its domain.',
    arguments: {
      operand: aliasOperand,
      output: { ...exportFile, help: `${exportFile.help}. The name implies the format if it ends in .svg or .png` },
      ...optionsOf(qrQuery),
      domain: domainOfAlias,
      force,
    },
    notes: aliasNote,
    run: async (db, { operand: alias, output: file, domain, account, actor: _, force, ...options }, { out, err }) => {
      const row = await chooseLink(db, account, alias, domain)
      const fields = givenFields(qrQuery, options)
      const shortUrl = await ownShortUrls(db)
      const drawn = () => drawnAddress(db, account, row, fields, shortUrl)
      const { shortUrl: short_url, domain_id } = await submit(qrQuery, fields, drawn)
      const style = await findQrStyle(db, account, domain_id)
      const named = file === undefined || fields.format !== undefined ? {} : formatOf(file)
      const image = await drawQr(short_url, { ...named, ...fields }, style)
      if (image instanceof Failure) throw new WrongUse(formatViolations(image.facts.violations ?? []))
      if (file !== undefined) {
        await writeWhole(file, force, (path) => writeFile(path, image.picture))
        err.write(`Wrote the QR code of ${short_url} to ${resolve(file)}.\n`)
      } else if (image.format === 'png' && isTerminal(out)) {
        throw new WrongUse("A terminal can't show a PNG. Choose a file with --output.")
      } else out.write(image.picture)
      return ''
    },
  }),
}

/** Returns the format that a file name implies. Throws `WrongUse` if that is not a format of QR codes. */
function formatOf(file: string): { readonly format: string } {
  const format = extname(file).slice(1).toLowerCase()
  if (!['svg', 'png'].includes(format))
    throw new WrongUse('--output: Choose a name that ends in .svg or .png, or add --format.')
  return { format }
}

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
  const unknownColumns = { isSkipped: skipsUnknown, advice: 'add --skip-unknown to leave out unknown columns' }
  const parsed = await parseFile(content, { storage: db, account, unknownColumns, mostRows: maxBulkLinks })
  if (typeof parsed === 'string') throw new StartupFailure(parsed)
  return parsed
}

/** Returns the link as it would be stored, in which `…` stands for a generated alias. */
function planned({ row, link: { domain, values } }: ReadyRow, shortUrl: ShortUrl) {
  const short_url = shortUrl(domain.name, values.alias ?? '…').replace(encodeURIComponent('…'), '…')
  return { row: row.number, short_url, ...values }
}

type StoredLink = Link & { readonly row: number }

/** Stores the links. Throws `StartupFailure` with the stored rows if one can't be stored after all. */
async function store(db: Storage, actor: Actor, ready: readonly ReadyRow[], { err }: Terminal) {
  const { links: actions } = (await openActions(db)).actions
  const run: RunBatch = (request) => runBatch(db, request, actions.rules)
  return withProgress(err, async (progress) => {
    const stored: StoredLink[] = []
    for (let at = 0; at < ready.length; at += maxRows) {
      progress.show(() => `${stored.length} of ${quantity(ready.length, 'link')} created`)
      const some = ready.slice(at, at + maxRows)
      const fields = some.map((row) => row.fields)
      const links = await storeNewLinks(run, actions, actor, fields).catch((error) => {
        if (!(error instanceof Failure)) throw error
        const row = some[error.facts.row ?? -1]?.row.number
        const last = stored.length === 0 ? 'No link was' : `The links up to row ${stored.at(-1)?.row} were`
        const prefix = row === undefined ? '' : `Row ${row}: `
        throw new StartupFailure(`${prefix}${error.message} ${last} created. Import the other rows again.`)
      })
      stored.push(...links().map((link, n) => ({ row: (some[n] as ReadyRow).row.number, ...link })))
    }
    return stored
  })
}

/** Returns the errors of a row, with the column as the file names it; null for the whole row. */
function errorsOf({ row, fields, link }: CheckedRow, { columns, headers }: ImportFile) {
  if (!('violations' in link)) return []
  return link.violations.map(({ field, code, refusal }) => {
    const label = linkLabels[field as keyof typeof linkLabels] ?? field
    const column = field === 'csv' ? null : (headers[columns.indexOf(field)] ?? label)
    const kind = field === 'domain_id' ? 'domain' : field === 'space_id' ? 'space' : null
    const name = String(fields[field] ?? '')
    const message = kind === null || name === '' ? refusal.forForm(column) : `The account has no ${kind} "${name}".`
    return { row: row.number, column, code, message }
  })
}

/** `areTaken` is whether all errors are taken aliases. */
function summarize(links: number, failed: number, isStored: boolean, areTaken: boolean): string {
  const rows = `${quantity(failed, 'row')} ${failed === 1 ? 'has' : 'have'} errors`
  if (isStored) return `Created ${quantity(links, 'link')}.${failed === 0 ? '' : ` ${rows}.`}`
  if (failed === 0 && links === 0) return 'Nothing to create.'
  if (failed === 0) return `${quantity(links, 'link')} can be created. Nothing is stored yet: add --yes to create them.`
  const refused = `Nothing was stored, because ${rows}. Correct the file`
  const option = areTaken ? '--skip-existing' : '--skip-errors'
  if (links > 0) return `${refused}, or add --yes ${option} to create the other ${quantity(links, 'link')}.`
  return areTaken ? `${refused}, or add ${option} to leave out rows whose alias exists already.` : `${refused}.`
}
