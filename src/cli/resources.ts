/** The commands on domains, spaces and tags. */
import { StartupFailure } from '../errors.ts'
import { quantity } from '../lib/format.ts'
import { linkOperations } from '../links/operations.ts'
import { mergeTag } from '../tags/operations.ts'
import { required, text } from './arguments.ts'
import type { Client } from './client.ts'
import type { Command } from './command.ts'
import { fieldHelp } from './form-options.ts'
import { deletionNote } from './history.ts'
import { listCommand, operationCommand } from './operation-command.ts'
import { recordTable } from './output.ts'
import { chooseRecord, groupOperations, groupSubject, type KindName, type NamedRecord } from './references.ts'

/** What happens to the links of a deleted record. */
const effects = {
  domain: 'will be deleted, too',
  space: 'will stay, without a space',
  tag: 'will stay, without the tag',
}

const asJson = 'print the record as JSON'

function groupCommands(kind: KindName): Readonly<Record<string, Command>> {
  const { store, list, patch, delete: remove } = groupOperations[kind]
  const subject = groupSubject(kind)
  return {
    create: operationCommand<NamedRecord>({
      summary: `Create a ${kind} and print its ID.`,
      operation: store,
      field: 'name',
      arguments: { operand: required('NAME', fieldHelp('name', store.body.form), text) },
      json: asJson,
      print: ({ id }) => String(id),
    }),
    list: listCommand({
      summary: `List the ${kind}s, newest first.`,
      operation: list,
      name: `${kind}s`,
      print: (records) => recordTable(records),
    }),
    update: operationCommand<NamedRecord>({
      summary: `Change a ${kind}.`,
      notes: 'Omitted options stay unchanged. An empty value, such as "", clears an optional field.',
      operation: patch,
      subject,
      except: kind === 'domain' ? ['name'] : [],
      json: asJson,
      print: ({ name }) => `The ${kind} ${name} was updated.`,
    }),
    delete: operationCommand({
      summary: `Delete a ${kind}. ${deletionNote}`,
      operation: remove,
      subject,
      confirm: async (record, fields, client) => {
        const links = await countLinks(client, kind, record)
        if (kind === 'domain' && links !== null && fields.links === undefined) {
          const advice = 'To delete them too, add "--links delete".'
          throw new StartupFailure(`The domain ${record.name} has ${links}. ${advice}`)
        }
        return `Delete the ${kind} ${record.name}?${links === null ? '' : ` Its ${links} ${effects[kind]}.`}`
      },
      declined: 'Nothing deleted.',
      print: (_, { name }) => `The ${kind} ${name} was deleted.`,
    }),
  }
}

/** Returns the number of the record's links in words; null if there are none. */
async function countLinks(client: Client, kind: KindName, { id, links }: NamedRecord): Promise<string | null> {
  if (links !== undefined) return links === 0 ? null : quantity(links, 'link')
  const fields = { [`${kind}_id`]: String(id), archived: 'any' }
  const { total, totalIsExact } = await client.list(linkOperations.list, 1, { fields })
  if (total === 0) return null
  return `${totalIsExact ? '' : 'more than '}${quantity(total, 'link')}`
}

export const domainCommands = groupCommands('domain')
export const spaceCommands = groupCommands('space')

export const tagCommands = {
  ...groupCommands('tag'),
  merge: operationCommand<NamedRecord>({
    summary: 'Give the links of a tag another tag, and delete the first one.',
    operation: mergeTag,
    subject: groupSubject('tag'),
    arguments: { into: required('TAG', 'the ID or name of the tag that the links get', text) },
    json: 'print the remaining tag as JSON',
    confirm: async (tag, { into }, client) => {
      const links = (await countLinks(client, 'tag', tag)) ?? 'no links'
      const { name } = await chooseRecord(client, 'tag', String(into), '--into')
      return `Merge the tag ${tag.name}, with ${links}, into ${name}, and delete ${tag.name}?`
    },
    print: (into, { name }) => `The tag ${name} was merged into ${into.name}.`,
  }),
}
