/** The commands that list and reverse changes of records. */
import type { Actor } from '../access/actor.ts'
import { calendarOf } from '../accounts/calendar.ts'
import { findTimeZones } from '../accounts/store.ts'
import { readHistoryDays } from '../config/config.ts'
import { found } from '../errors.ts'
import type { Reversals } from '../events/reversal.ts'
import { type Event, eventsQuery, formatEvent, readEventPage } from '../events/schema.ts'
import { findEvent, listStoredEvents } from '../events/store.ts'
import { quantity } from '../lib/format.ts'
import { program } from '../version.ts'
import { accountCommand, chooseAccount } from './accounts.ts'
import { openActions } from './actions.ts'
import { account, changeId, flag, optional, required, text } from './arguments.ts'
import { type Result, recordCommand } from './command.ts'
import { checkedFields, givenFields, listOptionsOf } from './form-options.ts'
import { json, shorten, table, writeRest } from './output.ts'
import { linkIdOf, ownShortUrls } from './references.ts'

const { limit, ...filters } = listOptionsOf(eventsQuery)
const chosen = Object.entries(filters).filter(([name]) => ['actor', 'from', 'to'].includes(name))

/** Not an `accountCommand`, whose own actor would replace the option of this name. */
const historyCommand = recordCommand({
  summary: 'List the changes of the account, or of a link, newest first.',
  arguments: {
    operand: optional('LINK', 'only changes of this link, by short URL, alias or ID; a deleted link by ID', text),
    // The names of all types are too long for the help.
    type: optional('TYPE', 'only changes of this type, such as link.updated', text),
    ...Object.fromEntries(chosen),
    limit,
    json: flag('print the records as JSON'),
    account,
  },
  run: async (db, { operand: link, account: given, limit, json: isJson, ...options }, { err }) => {
    const account = await chooseAccount(db, given)
    const ofLink = link === undefined ? {} : { record: 'link', record_id: String(await linkIdOf(db, account, link)) }
    const query = checkedFields(eventsQuery, { ...givenFields(eventsQuery, options), ...ofLink })
    const calendar = calendarOf(await findTimeZones(db, account))
    const page = await listStoredEvents(db, account, { ...readEventPage(query, calendar), limit })
    writeRest(err, page, 'changes')
    const shown = { shortUrl: await ownShortUrls(db), historyDays: readHistoryDays() }
    const events = page.rows.map((row) => formatEvent(row, shown))
    if (isJson) return json(events)
    const lines = events.map((event) => [
      String(event.id),
      event.created_at,
      `${event.actor.name} (${event.actor.kind})`,
      inWords(event),
    ])
    return table([['ID', 'TIME', 'BY', 'CHANGE'], ...lines])
  },
})

const undoCommand = accountCommand({
  summary: 'Undo a change of the last 30 days. That is a change, too, and can be undone in turn.',
  arguments: {
    operand: required('CHANGE', `the ID of the change, as shown by "${program} history"`, changeId),
    batch: flag('also undo all other changes of the same request, form or command'),
  },
  run: async (db, { operand: id, batch, actor }) => {
    const { reversals } = await openActions(db)
    if (batch) return undoBatch(reversals, actor, found(await findEvent(db, actor.account, id), 'change').batchId)
    const event = await reversals.undoEvent(actor, id)
    return `Undone: ${inWords(formatEvent({ ...event, undoneBy: null }, { shortUrl: await ownShortUrls(db), historyDays: 0 }))}`
  },
})

export const historyCommands = { history: historyCommand, undo: undoCommand }

/** What commands that delete records say about them. */
export const deletionNote = `For 30 days, "${program} undo" restores it.`

/** Reverses the changes of a batch in parts. Returns their number, and a line for each change that can't be undone. */
async function undoBatch(reversals: Reversals, actor: Actor, batch: string): Promise<Result> {
  const failures: string[] = []
  let count = 0
  for await (const reversed of reversals.undoBatch(actor, batch)) {
    for (const { event, failure } of reversed) {
      if (failure === null) count += 1
      else failures.push(`Change ${event.id} can't be undone: ${failure.message}`)
    }
  }
  const nothing = failures.length > 0 ? 'Nothing was undone.' : 'Nothing was left to undo.'
  return {
    text: [count > 0 ? `Undone: ${quantity(count, 'change')}.` : nothing, ...failures].join('\n'),
    code: failures.length > 0 ? 1 : 0,
  }
}

/** Returns the change in words, such as `link https://go.acme.com/summer updated: title "Sale" → "Summer sale"`. */
function inWords({ type, record, record_name, changes, undone_by }: Event): string {
  const action = type.slice(record.length + 1).replace('_', ' ')
  const values = changesInWords((action === 'updated' && changes) || {})
  const details = values === '' ? '' : `: ${values}`
  return `${record} ${record_name} ${action}${details}${undone_by === null ? '' : ' (undone)'}`
}

/** Returns changed values in words, such as `title "Sale" → "Summer sale"`. */
export function changesInWords(changes: NonNullable<Event['changes']>): string {
  return Object.entries(changes)
    .map(([field, [before, after]]) => `${field} ${valueText(before)} → ${valueText(after)}`)
    .join(', ')
}

function valueText(value: unknown): string {
  return value === null ? 'none' : shorten(JSON.stringify(value))
}
