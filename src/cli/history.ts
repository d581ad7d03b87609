/** The commands that list and reverse changes of records. */
import { listEvents, reverseEvents, showEvent } from '../api/events.ts'
import { reverseEvent } from '../app/operations.ts'
import type { Event } from '../events/schema.ts'
import { describeChange, type FindName, formatWords, readAddresses } from '../history/sentences.ts'
import { quantity } from '../lib/format.ts'
import { program } from '../version.ts'
import { changeId, flag, optional, required, text } from './arguments.ts'
import { apiCommand, type Client } from './client.ts'
import type { Result } from './command.ts'
import { listCommand } from './operation-command.ts'
import { shorten, table } from './output.ts'
import { chooseLinkId, groupOperations, type NamedRecord } from './references.ts'

const historyCommand = listCommand<Event>({
  summary: 'List the changes of the account, or of a link, newest first.',
  operation: listEvents,
  arguments: {
    operand: optional('LINK', 'only changes of this link, by short URL, alias or ID; a deleted link by ID', text),
    // The names of all types are too long for the help.
    type: optional('TYPE', 'only changes of this type, such as link.updated', text),
  },
  except: ['record', 'record_id', 'actor_id', 'batch_id', 'sort', 'sort_by'],
  name: 'changes',
  fields: async (client, { operand: link }) =>
    typeof link === 'string' ? { record: 'link', record_id: String(await chooseLinkId(client, link)) } : {},
  print: async (events, client) => eventTable(events, await readNames(client, events)),
})

/** Returns the function that names the spaces and domains to which events refer. */
async function readNames(client: Client, events: readonly Event[]): Promise<FindName> {
  const names = new Map<string, string | undefined>()
  for (const { record, changes } of events) {
    for (const kind of ['space', 'domain'] as const) {
      const [, id] = (record === 'link' && changes?.[`${kind}_id`]) || []
      if (typeof id !== 'number' || names.has(`${kind} ${id}`)) continue
      names.set(`${kind} ${id}`, (await client.find<NamedRecord>(groupOperations[kind].show, id))?.name)
    }
  }
  return (kind, id) => names.get(`${kind} ${id}`)
}

function eventTable(events: readonly Event[], findName: FindName): string {
  const lines = events.map((event) => [
    String(event.id),
    event.created_at,
    `${event.actor.name} (${event.actor.kind})`,
    describeEvent(event, findName),
  ])
  return table([['ID', 'TIME', 'BY', 'CHANGE'], ...lines])
}

const undoCommand = apiCommand({
  summary: 'Undo a change of the last 30 days. That is a change, too, and can be undone in turn.',
  arguments: {
    operand: required('CHANGE', `the ID of the change, as shown by "${program} history"`, changeId),
    batch: flag('also undo all other changes of the same request, form or command'),
  },
  run: async (client, { operand: id, batch }) => {
    const { data: event } = await client.call<Event>(showEvent, { id })
    if (batch) return undoBatch(client, event.batch_id)
    await client.call(reverseEvent, { id })
    return `Undone: ${describeEvent({ ...event, undone_by: null }, await readNames(client, [event]))}`
  },
})

export const historyCommands = { history: historyCommand, undo: undoCommand }

/** What commands that delete records say about them. */
export const deletionNote = `For 30 days, "${program} undo" restores it.`

/** The response to a request that undoes a part of a batch. */
interface Undone {
  readonly id: number
  readonly message?: string
}

/** Reverses the changes of a batch in parts. Returns their number, and a line for each change that can't be undone. */
async function undoBatch(client: Client, batch_id: string): Promise<Result> {
  const failures = new Map<number, string>()
  for (let count = 0; ; ) {
    const { data, meta } = await client.call<Undone[]>(reverseEvents, { fields: { batch_id } })
    for (const { id, message } of data) {
      if (message === undefined) failures.delete(id)
      else failures.set(id, `Change ${id} can't be undone: ${message}`)
    }
    count += Number(meta.succeeded)
    if (meta.succeeded !== 0 && meta.remaining !== 0) continue
    const nothing = failures.size > 0 ? 'Nothing was undone.' : 'Nothing was left to undo.'
    const first = count > 0 ? `Undone: ${quantity(count, 'change')}.` : nothing
    return { text: [first, ...failures.values()].join('\n'), code: failures.size > 0 ? 1 : 0 }
  }
}

/** Returns the change in words, such as `changed the title of go.acme.com/summer: title "Sale" → "Summer sale"`. */
function describeEvent(event: Event, findName: FindName): string {
  const values = event.type.endsWith('.updated') ? changesInWords(event.changes ?? {}) : ''
  const details = values === '' ? '' : `: ${values}`
  return `${formatWords(describeChange(event, findName))}${details}${event.undone_by === null ? '' : ' (undone)'}`
}

/** Returns changed values in words, such as `title "Sale" → "Summer sale"`. */
export function changesInWords(changes: NonNullable<Event['changes']>): string {
  return Object.entries(changes)
    .map(([field, [before, after]]) => `${field} ${valueText(field, before)} → ${valueText(field, after)}`)
    .join(', ')
}

function valueText(field: string, value: unknown): string {
  if (field === 'addresses' && value !== null)
    return shorten(
      readAddresses(value)
        .map(({ alias }) => alias)
        .join(', '),
    )
  return value === null ? 'none' : shorten(JSON.stringify(value))
}
