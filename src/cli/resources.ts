/** The commands on domains, spaces and tags, and what all commands on records share. */
import { StartupFailure } from '../errors.ts'
import { quantity } from '../lib/format.ts'
import { linkOperations } from '../links/operations.ts'
import { mergeTag } from '../tags/operations.ts'
import { flag, required, text } from './arguments.ts'
import { apiCommand, type Client } from './client.ts'
import type { Command } from './command.ts'
import { formOptions, givenFields, requireChange } from './form-options.ts'
import { deletionNote } from './history.ts'
import { listCommand, recordTable } from './lists.ts'
import { isConfirmed, json } from './output.ts'
import { chooseRecord, groupOperations, type KindName, type NamedRecord } from './references.ts'

/** What happens to the links of a deleted record. */
const effects = {
  domain: 'will be deleted, too',
  space: 'will stay, without a space',
  tag: 'will stay, without the tag',
}

const asJson = flag('print the record as JSON')
const yes = flag('do not ask for confirmation (required without a terminal)')

export const domainCommands = groupCommands('domain')
export const spaceCommands = groupCommands('space')
export const tagCommands = { ...groupCommands('tag'), merge: mergeCommand() }

function groupCommands(kind: KindName): Readonly<Record<string, Command>> {
  return {
    create: createCommand(kind),
    list: listCommand(`${kind}s`, groupOperations[kind].list, recordTable),
    update: updateCommand(kind),
    delete: deleteCommand(kind),
  }
}

function groupOperand(kind: KindName) {
  return required(kind.toUpperCase(), `the ID or name of the ${kind}`, text)
}

function createCommand(kind: KindName): Command {
  const { store } = groupOperations[kind]
  const { name, ...others } = formOptions(store.body.form)
  return apiCommand({
    summary: `Create a ${kind} and print its ID.`,
    arguments: { operand: required('NAME', String(name?.help), text), ...others, json: asJson },
    run: async (client, { operand: name, json: isJson, ...options }) => {
      const fields = { ...givenFields(store.body.form, options), name }
      const { data } = await client.call<NamedRecord>(store, { fields, operand: 'name' })
      return isJson ? json(data) : String(data.id)
    },
  })
}

function updateCommand(kind: KindName): Command {
  const { patch } = groupOperations[kind]
  const { form } = patch.body
  return apiCommand({
    summary: `Change a ${kind}.`,
    arguments: {
      operand: groupOperand(kind),
      ...formOptions(form, kind === 'domain' ? ['name'] : []),
      json: asJson,
    },
    notes: 'Omitted options stay unchanged. An empty value, such as "", clears an optional field.',
    check: (values) => requireChange(form, values),
    run: async (client, { operand, json: isJson, ...options }) => {
      const { id } = await chooseRecord(client, kind, operand, kind.toUpperCase())
      const { data } = await client.call<NamedRecord>(patch, { id, fields: givenFields(form, options) })
      return isJson ? json(data) : `The ${kind} ${data.name} was updated.`
    },
  })
}

function deleteCommand(kind: KindName): Command {
  const { delete: remove } = groupOperations[kind]
  return apiCommand({
    summary: `Delete a ${kind}. ${deletionNote}`,
    arguments: { operand: groupOperand(kind), ...(remove.query && formOptions(remove.query)), yes },
    run: async (client, { operand, yes, ...options }, terminal) => {
      const record = await chooseRecord(client, kind, operand, kind.toUpperCase())
      const fields = remove.query === undefined ? {} : givenFields(remove.query, options)
      const links = await countLinks(client, kind, record)
      if (kind === 'domain' && links !== null && fields.links === undefined) {
        throw new StartupFailure(`The domain ${record.name} has ${links}. To delete them too, add "--links delete".`)
      }
      const effect = links === null ? '' : ` Its ${links} ${effects[kind]}.`
      const question = `Delete the ${kind} ${record.name}?${effect}`
      if (!(await isConfirmed(question, yes, terminal))) return { text: 'Nothing deleted.', code: 1 }
      await client.call(remove, { id: record.id, fields })
      return `The ${kind} ${record.name} was deleted.`
    },
  })
}

/** Returns the number of the record's links in words; null if there are none. */
async function countLinks(client: Client, kind: KindName, { id, links }: NamedRecord): Promise<string | null> {
  const fields = { [`${kind}_id`]: String(id), archived: 'any' }
  const counted = links ?? (await client.list(linkOperations.list, 1, { fields }))
  const { total, totalIsExact } = typeof counted === 'number' ? { total: counted, totalIsExact: true } : counted
  if (total === 0) return null
  return totalIsExact ? quantity(total, 'link') : `more than ${quantity(total, 'link')}`
}

function mergeCommand(): Command {
  return apiCommand({
    summary: 'Give the links of a tag another tag, and delete the first one.',
    arguments: {
      operand: groupOperand('tag'),
      into: required('TAG', 'the ID or name of the tag that the links get', text),
      yes,
      json: flag('print the remaining tag as JSON'),
    },
    run: async (client, { operand, into: other, yes, json: isJson }, terminal) => {
      const tag = await chooseRecord(client, 'tag', operand, 'TAG')
      const into = await chooseRecord(client, 'tag', other, '--into')
      const links = (await countLinks(client, 'tag', tag)) ?? 'no links'
      const question = `Merge the tag ${tag.name}, with ${links}, into ${into.name}, and delete ${tag.name}?`
      if (!(await isConfirmed(question, yes, terminal))) return { text: 'Nothing changed.', code: 1 }
      const { data } = await client.call<NamedRecord>(mergeTag, { id: tag.id, fields: { into: String(into.id) } })
      return isJson ? json(data) : `The tag ${tag.name} was merged into ${data.name}.`
    },
  })
}
