/** The commands that print lists, and tables of records. */
import type { Operation } from '../api/operations.ts'
import type { Form } from '../forms/form.ts'
import { noAppLinks } from '../names/app-links.ts'
import { flag } from './arguments.ts'
import { apiCommand } from './client.ts'
import type { Command, Terminal } from './command.ts'
import { givenFields, listOptions } from './form-options.ts'
import { json, type Listed, table, writeRest } from './output.ts'
import { withIds } from './references.ts'

/** Declares a command that prints the first records of a list, and on stderr how many it leaves out. */
export function listCommand<R extends { readonly id?: unknown }>(
  name: string,
  list: Operation & { readonly query: Form<unknown> },
  format: (records: readonly R[]) => string,
): Command {
  return apiCommand({
    summary: `List the ${name}, newest first.`,
    arguments: { ...listOptions(list.query), json: flag('print the records as JSON') },
    run: async (client, { limit, json: isJson, ...options }, terminal) => {
      const fields = await withIds(client, givenFields(list.query, options))
      const listed = await client.list<R>(list, limit, { fields })
      return printList(listed, { name, format: isJson ? json : format }, terminal)
    },
  })
}

/** Returns the text of the records, and writes to stderr how many are left out. */
export function printList<R>(
  listed: Listed<R>,
  { name, format }: { readonly name: string; readonly format: (records: readonly R[]) => string },
  { err }: Terminal,
): string {
  writeRest(err, listed, name)
  return format(listed.rows)
}

/** Returns a table of the records, without the times of their changes and files. An empty table has the columns `none`. */
export function recordTable(records: readonly object[], none: readonly string[] = ['id', 'name']): string {
  const columns = (records.length === 0 ? none : Object.keys(records[0] as object)).filter(
    (name) => !name.endsWith('ed_at') && !(name in noAppLinks),
  )
  const lines = records.map((record) => {
    const values: Readonly<Record<string, unknown>> = { ...record }
    return columns.map((name) => String(values[name] ?? '-'))
  })
  return table([columns.map((name) => name.toUpperCase().replaceAll('_', ' ')), ...lines])
}
