/** The commands on domains, spaces and tags. They use the forms, checks and stores of the API. */

import type { ResourceHandlers } from '../api/handlers.ts'
import { insertRecord } from '../api/handlers.ts'
import type { Operations } from '../api/operations.ts'
import { findWarnings } from '../api/warnings.ts'
import { domainOperations } from '../domains/operations.ts'
import { countAddresses } from '../domains/store.ts'
import { StartupFailure } from '../errors.ts'
import type { Form } from '../forms/form.ts'
import { type ListQuery, type PageQuery, toPageRequest } from '../forms/list-query.ts'
import { quantity } from '../lib/format.ts'
import { countLinksIn } from '../links/store.ts'
import { noAppLinks } from '../names/app-links.ts'
import { resources } from '../resources.ts'
import { spaceOperations } from '../spaces/operations.ts'
import { countedMatches, type Page, type Storage } from '../storage/port.ts'
import { tagOperations } from '../tags/operations.ts'
import { mergeTagForm } from '../tags/schema.ts'
import { tagRecords } from '../tags/store.ts'
import { accountCommand } from './accounts.ts'
import { openActions } from './actions.ts'
import { flag, required, text } from './arguments.ts'
import type { Command } from './command.ts'
import {
  checkedFields,
  givenFields,
  listOptionsOf,
  optionsOf,
  requireChange,
  submit,
  writeWarnings,
} from './form-options.ts'
import { deletionNote } from './history.ts'
import { isConfirmed, json, table, writeRest } from './output.ts'
import { chooseRecord, type KindName, type NamedRecord, withIds } from './references.ts'

interface Kind {
  readonly operations: Operations
  /** Returns the number of the record's links in words; null if there are none. */
  readonly linksOf: (db: Storage, account: number, id: number) => Promise<string | null>
  /** What happens to the links of a deleted record. */
  readonly effect: string
}

const kinds: Readonly<Record<KindName, Kind>> = {
  domain: {
    operations: domainOperations,
    linksOf: async (db, account, id) => {
      const { links, further } = await countAddresses(db, account, id)
      const addresses = further === 0 ? null : quantity(further, 'further address', 'further addresses')
      const used = [inWords(links), addresses].filter((words) => words !== null)
      return used.length === 0 ? null : used.join(' and ')
    },
    effect: 'will be deleted, too',
  },
  space: {
    operations: spaceOperations,
    linksOf: async (db, account, id) => {
      const links = (await countLinksIn(db, account, 'space_id', [id])).get(id) ?? 0
      return links > countedMatches ? `more than ${inWords(countedMatches)}` : inWords(links)
    },
    effect: 'will stay, without a space',
  },
  tag: {
    operations: tagOperations,
    linksOf: async (db, account, id) => inWords((await tagRecords.find(db, account, id))?.record.links ?? 0),
    effect: 'will stay, without the tag',
  },
}

async function actionsOn(kind: KindName, db: Storage): Promise<ResourceHandlers<NamedRecord>> {
  return (await openActions(db)).actions[`${kind}s`]
}

function inWords(links: number): string | null {
  return links === 0 ? null : quantity(links, 'link')
}

const asJson = flag('print the record as JSON')
const yes = flag('do not ask for confirmation (required without a terminal)')

export const domainCommands = commandsOf('domain')
export const spaceCommands = commandsOf('space')
export const tagCommands = { ...commandsOf('tag'), merge: mergeCommand() }

function operandOf(kind: KindName) {
  return required(kind.toUpperCase(), `the ID or name of the ${kind}`, text)
}

function commandsOf(kind: KindName): Readonly<Record<string, Command>> {
  const { operations } = kinds[kind]
  const readList = async (db: Storage, account: number, query: ListQuery) =>
    (await actionsOn(kind, db)).list(account, toPageRequest(query, resources[`${kind}s`]))
  return {
    create: createCommand(kind),
    list: listCommand(`${kind}s`, operations.list.query, readList, recordTable),
    update: updateCommand(kind),
    delete: deleteCommand(kind),
  }
}

function createCommand(kind: KindName): Command {
  const { form } = kinds[kind].operations.store.body
  const { name, ...others } = optionsOf(form)
  return accountCommand({
    summary: `Create a ${kind} and print its ID.`,
    arguments: {
      operand: required('NAME', String(name?.help), text),
      ...others,
      json: asJson,
    },
    run: async (db, { operand: name, account: _, actor, json: isJson, ...options }, terminal) => {
      const fields = { ...givenFields(form, options), name }
      const actions = await actionsOn(kind, db)
      const { record } = await submit(form, fields, async () => insertRecord(actions, db, actor, fields), 'name')
      writeWarnings(terminal, await findWarnings(actions, db, actor, record, fields))
      return isJson ? json(record) : String(record.id)
    },
  })
}

/** Declares a command that prints the first records of a list, and on stderr how many it leaves out. */
export function listCommand<Query extends PageQuery, R>(
  name: string,
  query: Form<Query>,
  read: (db: Storage, account: number, query: Query) => Promise<Page<R>>,
  format: (records: readonly R[]) => string,
): Command {
  return accountCommand({
    summary: `List the ${name}, newest first.`,
    arguments: { ...listOptionsOf(query), json: flag('print the records as JSON') },
    run: async (db, { limit, account, actor: _, json: isJson, ...options }, { err }) => {
      const checked = checkedFields(query, await withIds(db, account, givenFields(query, options)))
      const page = await read(db, account, { ...checked, per_page: limit })
      writeRest(err, page, name)
      return isJson ? json(page.rows) : format(page.rows)
    },
  })
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

function updateCommand(kind: KindName): Command {
  const { form } = kinds[kind].operations.patch.body
  const fixed = kind === 'domain' ? ['name'] : []
  return accountCommand({
    summary: `Change a ${kind}.`,
    arguments: { operand: operandOf(kind), ...optionsOf(form, fixed), json: asJson },
    notes: 'Omitted options stay unchanged. An empty value, such as "", clears an optional field.',
    check: (values) => requireChange(form, values),
    run: async (db, { operand, account, actor, json: isJson, ...options }, terminal) => {
      const { id: record } = await chooseRecord(db, account, kind, operand, kind.toUpperCase())
      const fields = givenFields(form, options)
      const actions = await actionsOn(kind, db)
      const changed = await submit(form, fields, async () => actions.change(actor, record, fields, null))
      writeWarnings(terminal, await findWarnings(actions, db, actor, changed.record, fields))
      return isJson ? json(changed.record) : `The ${kind} ${changed.record.name} was updated.`
    },
  })
}

function deleteCommand(kind: KindName): Command {
  const { query } = kinds[kind].operations.delete
  return accountCommand({
    summary: `Delete a ${kind}. ${deletionNote}`,
    arguments: { operand: operandOf(kind), ...(query && optionsOf(query)), yes },
    run: async (db, { operand, yes, account, actor, ...options }, terminal) => {
      const record = await chooseRecord(db, account, kind, operand, kind.toUpperCase())
      const fields = query === undefined ? {} : givenFields(query, options)
      const links = await kinds[kind].linksOf(db, account, record.id)
      if (kind === 'domain' && links !== null && fields.links === undefined) {
        throw new StartupFailure(`The domain ${record.name} has ${links}. To delete them too, add "--links delete".`)
      }
      const effect = links === null ? '' : ` Its ${links} ${kinds[kind].effect}.`
      const question = `Delete the ${kind} ${record.name}?${effect}`
      if (!(await isConfirmed(question, yes, terminal))) return { text: 'Nothing deleted.', code: 1 }
      const remove = async () => (await actionsOn(kind, db)).remove(actor, record.id, fields, null)
      await (query === undefined ? remove() : submit(query, fields, remove))
      return `The ${kind} ${record.name} was deleted.`
    },
  })
}

function mergeCommand(): Command {
  return accountCommand({
    summary: 'Give the links of a tag another tag, and delete the first one.',
    arguments: {
      operand: operandOf('tag'),
      into: required('TAG', 'the ID or name of the tag that the links get', text),
      yes,
      json: flag('print the remaining tag as JSON'),
    },
    run: async (db, { operand, into: other, yes, account, actor, json: isJson }, terminal) => {
      const tag = await chooseRecord(db, account, 'tag', operand, 'TAG')
      const into = await chooseRecord(db, account, 'tag', other, '--into')
      const links = (await kinds.tag.linksOf(db, account, tag.id)) ?? 'no links'
      const question = `Merge the tag ${tag.name}, with ${links}, into ${into.name}, and delete ${tag.name}?`
      if (!(await isConfirmed(question, yes, terminal))) return { text: 'Nothing changed.', code: 1 }
      const fields = { into: into.id }
      const { tags } = (await openActions(db)).actions
      const merge = () => tags.merge(actor, tag.id, fields, null)
      const { record } = await submit(mergeTagForm, fields, merge)
      return isJson ? json(record) : `The tag ${tag.name} was merged into ${record.name}.`
    },
  })
}
