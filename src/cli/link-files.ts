/** The commands that write links to files: exports and QR codes. */

import { writeFile } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { Failure } from '../errors.ts'
import { writeWhole } from '../lib/whole-file.ts'
import { exportQuery, linkFile } from '../links/export.ts'
import { drawnAddress, drawQr, qrQuery } from '../links/qr.ts'
import { findQrStyle } from '../qr/store.ts'
import { accountCommand } from './accounts.ts'
import { WrongUse } from './arguments.ts'
import { checkedFields, formatViolations, givenFields, optionsOf, submit } from './form-options.ts'
import { isTerminal } from './output.ts'
import { aliasNote, aliasOperand, chooseLink, domainOfAlias, ownShortUrls, withIds } from './references.ts'
import { exportFile, force, writeExport } from './transfer.ts'

export const linkFileCommands = {
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
