/** The commands that write links to files: exports and QR codes. */
import { writeFile } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { Fields } from '../http/form-encoding.ts'
import { writeWhole } from '../lib/whole-file.ts'
import { addressOperations, type ShownAddress } from '../links/address-schema.ts'
import { exportLinks, exportQuery } from '../links/export.ts'
import { qrQuery, showLinkQr } from '../links/qr.ts'
import type { Link } from '../links/schema.ts'
import { WrongUse } from './arguments.ts'
import { apiCommand, type Client } from './client.ts'
import { formOptions, givenFields } from './form-options.ts'
import { isTerminal } from './output.ts'
import { aliasNote, aliasOperand, chooseLink, domainOption, withIds } from './references.ts'
import { exportFile, force, writeExport } from './transfer.ts'

export const linkFileCommands = {
  export: apiCommand({
    summary: 'Write links to a CSV or JSON Lines file, with the filters of a list.',
    arguments: { operand: exportFile, ...formOptions(exportQuery), force },
    run: async (client, { operand: file, force, ...options }, terminal) => {
      const fields = await withIds(client, givenFields(exportQuery, options))
      const { body } = await client.send(exportLinks, { fields })
      const isTable = fields.format !== 'jsonl'
      return writeExport(countLinks(body.setEncoding('utf8'), isTable), file, force, terminal)
    },
  }),

  qr: apiCommand({
    summary: 'Draw the QR code of a link as SVG or PNG, in the style of its domain.',
    arguments: {
      operand: aliasOperand,
      output: { ...exportFile, help: `${exportFile.help}. The name implies the format if it ends in .svg or .png` },
      ...formOptions(qrQuery, ['style']),
      domain: domainOption,
      force,
    },
    notes: aliasNote,
    run: async (client, { operand: alias, output: file, domain, force, ...options }, { out, err }) => {
      const link = await chooseLink(client, alias, domain)
      const given = givenFields(qrQuery, options)
      const named = file === undefined || given.format !== undefined ? {} : formatIn(file)
      const fields: Fields = { style: 'domain', ...named, ...given }
      const { body } = await client.send(showLinkQr, { id: link.id, fields })
      const picture = await buffer(body)
      if (file !== undefined) {
        const { address_id } = given
        const address = address_id === undefined ? link : await readAddress(client, link, String(address_id))
        await writeWhole(file, force, (path) => writeFile(path, picture))
        err.write(`Wrote the QR code of ${address.short_url} to ${resolve(file)}.\n`)
      } else if (fields.format === 'png' && isTerminal(out)) {
        throw new WrongUse("A terminal can't show a PNG. Choose a file with --output.")
      } else out.write(picture)
      return ''
    },
  }),
}

async function readAddress(client: Client, { id }: Link, address_id: string): Promise<ShownAddress> {
  return (await client.call<ShownAddress>(addressOperations.show, { id, address_id })).data
}

/** Yields the text of an export. Returns the number of its links. */
async function* countLinks(
  texts: AsyncIterable<string>,
  isTable: boolean,
): AsyncGenerator<string, { readonly links: number }> {
  // The first line of a table has the names, and its cells may have line feeds in quotes.
  let [lines, isQuoted] = [isTable ? -1 : 0, false]
  for await (const text of texts) {
    for (const [character] of text.matchAll(isTable ? /["\n]/g : /\n/g)) {
      if (character === '"') isQuoted = !isQuoted
      else if (!isQuoted) lines += 1
    }
    yield text
  }
  return { links: lines }
}

/** Returns the format that a file name implies. Throws `WrongUse` if that is not a format of QR codes. */
function formatIn(file: string): { readonly format: string } {
  const format = extname(file).slice(1).toLowerCase()
  if (!['svg', 'png'].includes(format))
    throw new WrongUse('--output: Choose a name that ends in .svg or .png, or add --format.')
  return { format }
}
