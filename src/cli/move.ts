/** The commands that move links from other services: they plan, apply, prove and undo imports. */
import { createReadStream } from 'node:fs'
import { extname } from 'node:path'
import type { Actor } from '../access/actor.ts'
import { calendarOf } from '../accounts/calendar.ts'
import { findTimeZones } from '../accounts/store.ts'
import { found } from '../errors.ts'
import type { ImportActions } from '../imports/actions.ts'
import type { ReadingOptions } from '../imports/reading.ts'
import {
  fileTypes,
  type Import,
  type ImportOptions,
  type ImportRow,
  importOperations,
  importOptions,
} from '../imports/schema.ts'
import { sourceNames } from '../imports/source-names.ts'
import { formatCount, quantity } from '../lib/format.ts'
import type { Storage } from '../storage/port.ts'
import { program } from '../version.ts'
import { accountCommand } from './accounts.ts'
import { flag, importId, optional, optionalFile, required, text } from './arguments.ts'
import { apiCommand, type Client, withClient } from './client.ts'
import { type Terminal, wrapped } from './command.ts'
import { checkFields, explained, formOptions, givenFields } from './form-options.ts'
import { withImports } from './imports.ts'
import { describeImport, describeProof, readPlanDetails, rowTable, writeRowWarnings } from './move-report.ts'
import { listCommand, operationCommand } from './operation-command.ts'
import { isConfirmed, isTerminal, json, table } from './output.ts'
import { type Subject, withIds } from './references.ts'
import { readFailure } from './transfer.ts'

const operand = required('ID', `the import, as shown by "${program} move list"`, importId)
const asJson = flag('print the record as JSON')

const importSubject: Subject<Pick<Import, 'id'>> = {
  arguments: { operand },
  choose: async (_, { operand }) => ({ id: Number(operand) }),
}

export const moveCommands = {
  plan: accountCommand({
    summary: 'Read a file of another service, and show what an import would do.',
    arguments: {
      operand: optionalFile('the file: CSV, JSON, NDJSON or SQL (default, or if "-": standard input)'),
      ...formOptions(importOptions),
      'domain-map': {
        ...optional('HOST=DOMAIN', 'the domain for a host of the file. "*" stands for rows without a host', text),
        isRepeatable: true,
      },
      column: {
        ...optional('NAME=FIELD', 'the field of a column, such as "Short Code=alias", or "-" for none', text),
        isRepeatable: true,
      },
      tag: optional('NAME', 'a tag for all new links. A new name becomes a tag', text),
      'generate-aliases': flag('generate aliases for rows without one. Printed links will not work then'),
      json: flag('print the plan as JSON'),
    },
    notes: wrapped(
      `The file can have any size. --domain-map and --column can be repeated. Without --time-zone, times without an offset are in the time zone of the account. A host that is a domain of the account needs no --domain-map. The exit code is 1 if rows have errors or conflicts. Plans are deleted after 7 days, unless they are applied, and the oldest ones of an account with more than 20.`,
      0,
    ),
    run: async (db, { operand: file, json: isJson, 'generate-aliases': generates, ...others }, actor, terminal) => {
      const options = { ...others, ...(generates && { 'generate-aliases': 'true' }) }
      const { account } = actor
      const given = givenFields(importOptions, options)
      const fields = await withClient({ db, actor, terminal }, (client) => withIds(client, given))
      checkFields(importOptions, fields, 'body')
      const { timeZone } = calendarOf(await findTimeZones(db, account))
      const values = importOptions.read({ time_zone: timeZone, ...fields }).values as ImportOptions
      return withImports(db, terminal, async (imports) => {
        const planned = imports.plan(actor, readBytes(file, terminal), { type: readFileType(file), options: values })
        const { record } = (
          await planned.catch((error) => {
            throw explained(error, importOptions, 'body')
          })
        ).shown
        const stored = found(await imports.findStored(account, record.id), 'import')
        return withClient({ db, actor, terminal }, async (client) => {
          const details = await readPlanDetails({ client, imports, account, stored })
          await writeRowWarnings(client, record.id, terminal)
          return { text: isJson ? json(record) : await describeImport(client, record, details), code: exitCode(record) }
        })
      })
    },
  }),

  apply: apiCommand(
    {
      summary: 'Store the links and clicks of a plan. Run it again after an interruption.',
      arguments: { operand, json: asJson },
      run: async (client, { operand: id, json: isJson }, terminal) => {
        const { data: record } = await client.call<Import>(importOperations.apply, { id })
        await writeRowWarnings(client, id, terminal)
        return { text: isJson ? json(record) : await describeImport(client, record), code: exitCode(record) }
      },
    },
    withJobs,
  ),

  proof: accountCommand({
    summary: 'Compare the responses of the old service with the responses of this server.',
    arguments: { operand, json: asJson },
    notes: wrapped(
      `Each host gets up to 5 requests per second. They are not counted here. Another proof repeats the addresses that were not the same. The exit code is 1 if any response differs. If the DNS of a host has changed already, PROOF_HOSTS names the address of its old server, such as PROOF_HOSTS=old.host=203.0.113.7:443.`,
      0,
    ),
    run: async (db, { operand: id, json: isJson }, actor, terminal) =>
      withJobs({ db, actor, terminal }, async (client, imports) => {
        const { data: record } = await client.call<Import>(importOperations.proof, { id })
        const { differs, unreachable, pending } = record.proof
        const text = isJson ? json(record) : await describeProof({ db, account: actor.account, imports }, record)
        return { text, code: differs + unreachable + pending > 0 ? 1 : 0 }
      }),
  }),

  undo: apiCommand(
    {
      summary: 'Delete the links of an import, up to 30 days later, if no one edited them.',
      arguments: { operand, yes: flag('undo without asking (required without a terminal)'), json: asJson },
      run: async (client, { operand: id, yes, json: isJson }, terminal) => {
        const { data } = await client.call<Import>(importOperations.show, { id })
        const { store, rename, update } = data.outcomes
        const restored = update === 0 ? '' : `, and give ${quantity(update, 'link')} the previous values`
        const question = `Delete the ${quantity(store + rename, 'link')} of import ${id} with their clicks${restored}?`
        if (!(await isConfirmed(question, yes, terminal))) return { text: 'Nothing changed.', code: 1 }
        const { data: record } = await client.call<Import>(importOperations.undo, { id })
        return isJson ? json(record) : `Import ${id} was undone.`
      },
    },
    withJobs,
  ),

  list: listCommand<Import>({
    summary: 'List the imports, newest first.',
    operation: importOperations.list,
    name: 'imports',
    print: importTable,
  }),

  show: operationCommand<Pick<Import, 'id'>, Import>({
    summary: 'Show a plan or an import.',
    operation: importOperations.show,
    subject: importSubject,
    json: 'print the record as JSON',
    print: (record, _, client) => describeImport(client, record),
  }),

  rows: listCommand<ImportRow, Pick<Import, 'id'>>({
    summary: 'List the rows of an import in the order of the file.',
    operation: importOperations.rows,
    subject: importSubject,
    name: 'rows',
    print: rowTable,
  }),
}

function exitCode({ outcomes }: Import): 0 | 1 {
  return outcomes.refuse + outcomes.conflict > 0 ? 1 : 0
}

/** Runs work with the API in this process. Shows the progress of its jobs, and stops them at Ctrl-C. */
function withJobs<T>(
  { db, actor, terminal }: { readonly db: Storage; readonly actor: Actor; readonly terminal: Terminal },
  work: (client: Client, imports: ImportActions) => Promise<T>,
): Promise<T> {
  return withImports(db, terminal, (imports) =>
    withClient({ db, actor, terminal, imports }, (client) => work(client, imports)),
  )
}

function importTable(imports: readonly Import[]): string {
  const lines = imports.map(({ id, source, state, rows, created_at }) => [
    ...[String(id), sourceNames[source], state, formatCount(rows), created_at],
  ])
  return table([['ID', 'FROM', 'STATE', 'ROWS', 'CREATED'], ...lines])
}

/** Returns the type for the extension of a file; null if the reader must recognize it. */
function readFileType(file = ''): ReadingOptions['type'] {
  const extension = extname(file).slice(1).toLowerCase()
  return Object.values(fileTypes).find((type) => type === extension) ?? null
}

async function* readBytes(file: string | undefined, { input, err }: Terminal): AsyncGenerator<Uint8Array> {
  const source = file === undefined ? input() : createReadStream(file)
  if (isTerminal(source))
    err.write('Reading a file from the terminal. End it with Ctrl-D, or pass the name of a file.\n')
  try {
    for await (const chunk of source) yield Buffer.from(chunk)
  } catch (error) {
    throw file === undefined ? error : readFailure(file, error as NodeJS.ErrnoException)
  }
}
