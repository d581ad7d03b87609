/** Commands that send one request: their options are the fields of its operation. */
import type { Operation } from '../api/operations.ts'
import type { Form } from '../forms/form.ts'
import type { Fields } from '../http/form-encoding.ts'
import { flag, WrongUse } from './arguments.ts'
import { apiCommand, type Client, findForm } from './client.ts'
import type { Arguments, Command, Terminal } from './command.ts'
import { formOptions, givenFields, listOptions } from './form-options.ts'
import { isConfirmed, json, writeRest } from './output.ts'
import { type Subject, withIds } from './references.ts'

interface Declared<R, T> {
  readonly summary: string
  readonly notes?: string
  readonly operation: Operation
  /** The record in the path. */
  readonly subject?: Subject<R>
  /** Arguments in place of the options of fields, or in addition to them. */
  readonly arguments?: Arguments
  /** The field that is the argument without a name. */
  readonly field?: string
  /** The fields without an option. */
  readonly except?: readonly string[]
  /** What `--json` prints. */
  readonly json?: string
  /** Returns the question to confirm. */
  readonly confirm?: (record: R, fields: Fields, client: Client) => string | Promise<string>
  /** The output if it is not confirmed. */
  readonly declined?: string
  /** Returns the output. `data` is the record if the response has none. */
  readonly print: (data: T, record: R, client: Client) => string | Promise<string>
  /** Runs before anything is printed. */
  readonly after?: (data: T, terminal: Terminal) => Promise<void>
}

const yes = flag('do not ask for confirmation (required without a terminal)')

/** Declares a command that sends one request. A change needs at least one field. */
export function operationCommand<R extends { readonly id: number }, T = R>(declared: Declared<R, T>): Command {
  const { operation, subject, field, confirm, except = [] } = declared
  const form = withoutFields(findForm(operation), except)
  return apiCommand({
    summary: declared.summary,
    arguments: {
      ...subject?.arguments,
      ...formOptions(form, field === undefined ? [] : [field]),
      ...declared.arguments,
      ...(confirm && { yes }),
      ...(declared.json !== undefined && { json: flag(declared.json) }),
    } as Arguments,
    notes: [declared.notes, subject?.notes].filter(Boolean).join('\n'),
    check: (values) => {
      if (operation.method !== 'PATCH' || Object.keys(givenFields(form, values)).length > 0) return
      throw new WrongUse('Nothing to change. Add an option for each field that should change.')
    },
    run: async (client, values, terminal) => {
      const record = (await subject?.choose(client, values as Readonly<Record<string, string>>)) as R
      const named = field === undefined ? values : { ...values, [field]: values.operand }
      const fields = await withIds(client, givenFields(form, named))
      client.check(operation, { fields, operand: field })
      const question = await confirm?.(record, fields, client)
      if (question !== undefined && !(await isConfirmed(question, values.yes === true, terminal)))
        return { text: declared.declined ?? 'Nothing changed.', code: 1 }
      const request = { ...(record && { id: record.id }), fields, operand: field }
      const { data = record } = await client.call<T | R>(operation, request)
      await declared.after?.(data as T, terminal)
      return values.json === true ? json(data) : declared.print(data as T, record, client)
    },
  })
}

function withoutFields({ fields, ...form }: Form<unknown>, except: readonly string[]): Form<unknown> {
  const others = Object.entries(fields).filter(([name]) => !except.includes(name))
  return { ...form, fields: Object.fromEntries(others) } as Form<unknown>
}

interface DeclaredList<R, Row> extends Pick<Declared<R, Row>, 'subject' | 'arguments' | 'except'> {
  readonly summary: string
  readonly operation: Operation
  /** The plural of the records, for the note about further rows. */
  readonly name: string
  /** Returns fields that no option has. */
  readonly fields?: (client: Client, values: Readonly<Record<string, unknown>>) => Promise<Fields>
  readonly print: (rows: readonly Row[], client: Client) => string | Promise<string>
}

/** Declares a command that prints the first records of a list, and on stderr how many it leaves out. */
export function listCommand<Row extends { readonly id: number }, R extends { readonly id: number } = Row>(
  declared: DeclaredList<R, Row>,
): Command {
  const { operation, subject, name, print } = declared
  const form = withoutFields(findForm(operation), declared.except ?? [])
  return apiCommand({
    summary: declared.summary,
    arguments: {
      ...subject?.arguments,
      ...declared.arguments,
      ...listOptions(form),
      // In their place, but with their own help.
      ...declared.arguments,
      json: flag('print the records as JSON'),
    },
    run: async (client, { limit, json: isJson, ...values }, { err }) => {
      const record = await subject?.choose(client, values as Readonly<Record<string, string>>)
      const fields = {
        ...(await withIds(client, givenFields(form, values))),
        ...(await declared.fields?.(client, values)),
      }
      const listed = await client.list<Row>(operation, limit as number, { ...(record && { id: record.id }), fields })
      writeRest(err, listed, name)
      return isJson ? json(listed.rows) : print(listed.rows, client)
    },
  })
}
