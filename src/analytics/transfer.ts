import { calendarOf, dayText, latestDay } from '../accounts/calendar.ts'
import { findTimeZones } from '../accounts/store.ts'
import { dayFrom } from '../forms/rules.ts'
import { csvRow } from '../lib/csv.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Db } from '../storage/port.ts'
import { exportRecords, type RecordCounts } from '../transfer/export.ts'
import {
  checkedRecord,
  type Detail,
  InvalidRecord,
  type Members,
  resolveLocalId,
  resultOrInvalid,
  type Target,
} from '../transfer/transferable.ts'
import { exportedDimensions, other, shownCounts, sortedValues, sumHours, type Value } from './day.ts'
import { dayMembers, readDay } from './day-line.ts'
import {
  type DayStored,
  daysOfLinks,
  findByShortLink,
  type LinkDay,
  linkBatchSize,
  type NamedLinkDay,
  raiseTotals,
  storeDays,
} from './transfer-store.ts'

export const csvHead = 'day,short_url,link_id,dimension,value,clicks,unique_clicks,bots,previews,time_zone\r\n'

/** A line of a file, with the link's id in that file. It has a short link if the file has no links. */
interface FileDay extends LinkDay {
  readonly shortLink: string | undefined
}

/** Clicks in exports and imports: one line per link day from `from` to `to`. With `isNamed`, lines have short links too. */
function clicksOfPeriod(from: number, to: number, isNamed: boolean): Detail<FileDay> {
  return {
    plural: 'click_days',
    singular: 'click_day',
    async *pages(db, account, { links: lastLink = Number.MAX_SAFE_INTEGER }) {
      for await (const page of daysOfLinks(db, account, { from, to, lastLink })) {
        yield page.map(({ link, domain, alias, day, facts }) => ({
          link_id: link,
          ...(isNamed && { short_link: `${domain}/${alias}` }),
          day: dayText(day),
          ...dayMembers(facts),
        }))
      }
    },
    read,
    store,
    complete: async (db, { actor, changed }) => {
      const links = [...changed].sort((a, b) => a - b)
      for (let at = 0; at < links.length; at += linkBatchSize) {
        const some = links.slice(at, at + linkBatchSize)
        await db.write((tx) => raiseTotals(tx, actor.account, some), 'serializable')
      }
    },
    spreadsheet: {
      head: csvHead.trimEnd(),
      isNone:
        'has clicks as CSV, which is for spreadsheets and leaves out the hours. Export them as JSON Lines, which is what "export clicks" writes without --format, and import those',
    },
  }
}

export const clickTransfer = clicksOfPeriod(0, Number.POSITIVE_INFINITY, false)

function read({ link_id, short_link, day, ...members }: Members): FileDay {
  if (!(Number.isSafeInteger(link_id) && Number(link_id) > 0)) {
    throw new InvalidRecord('link_id: The line needs the id that the link has in the file.')
  }
  const number = typeof day === 'string' ? dayFrom(day) : undefined
  if (number === undefined) throw new InvalidRecord('day: Days are written such as 2026-11-20.')
  if (number > latestDay()) throw new InvalidRecord('day: The day is in the future.')
  const shortLink = typeof short_link === 'string' ? short_link : undefined
  return { link: Number(link_id), shortLink, day: number, facts: checkedRecord(readDay(members)) }
}

async function store(
  tx: Db,
  target: Target,
  days: readonly FileDay[],
): Promise<('stored' | 'known' | InvalidRecord)[]> {
  const local: (LinkDay | InvalidRecord)[] = []
  for (const { shortLink, ...day } of days) {
    const link = await findLocalLink(tx, target, day.link, shortLink)
    local.push(link instanceof InvalidRecord ? link : { ...day, link })
  }
  const usable = local.filter((day): day is LinkDay => !(day instanceof InvalidRecord))
  for (const { link } of usable) target.changed.add(link)
  const stored = (await storeDays(tx, target.actor.account, usable)).values()
  return local.map((day) => (day instanceof InvalidRecord ? day : toOutcome(stored.next().value as DayStored, day)))
}

/** Returns a link's local id. Prefers the file's links, whose domain or alias may differ here. */
async function findLocalLink(
  tx: Db,
  target: Target,
  sourceId: number,
  shortLink: string | undefined,
): Promise<number | InvalidRecord> {
  if (shortLink !== undefined && target.idOf('links', sourceId) === undefined) {
    const link = await findByShortLink(tx, target.actor.account, shortLink)
    if (link !== undefined) return link
    return new InvalidRecord(
      `short_link: This account has no link ${shortLink.slice(0, 300).toWellFormed()}. Store the link first, then import again; "export" without "clicks" has links and their clicks in one file.`,
    )
  }
  return resultOrInvalid(() => resolveLocalId(target, 'links', sourceId))
}

function toOutcome(stored: DayStored, { link, day }: LinkDay): 'stored' | 'known' | InvalidRecord {
  if (stored === 'gone') return new InvalidRecord('link_id: The link has just been deleted here.')
  if (stored !== 'other') return stored
  return new InvalidRecord(
    `day: The link ${link} has other clicks on ${dayText(day)} here, and keeps them. To replace them, delete the link's clicks here (DELETE /api/v1/links/${link}/clicks), then import again.`,
  )
}

/** Exports clicks by link and day, with optional dates such as `2026-11-20`. Returns the number of link days. */
export async function* clickTexts(
  db: Db,
  account: number,
  format: 'jsonl' | 'csv',
  dates: { readonly from: string | undefined; readonly to: string | undefined },
  shortUrl: ShortUrl,
): AsyncGenerator<string, RecordCounts> {
  const from = dayFrom(dates.from ?? '') ?? 0
  const to = dayFrom(dates.to ?? '') ?? Number.POSITIVE_INFINITY
  if (format === 'jsonl') return yield* exportRecords(db, account, [clicksOfPeriod(from, to, true)])
  const calendar = calendarOf(await findTimeZones(db, account))
  let click_days = 0
  yield csvHead
  for await (const page of daysOfLinks(db, account, { from, to, lastLink: Number.MAX_SAFE_INTEGER })) {
    click_days += page.length
    yield page.map((each) => csvRows(each, shortUrl, calendar.timeZoneOn(each.day))).join('')
  }
  return { click_days }
}

/** Returns the rows for a link day in its time zone: the total, then each value by dimension. */
export function csvRows(
  { link, domain, alias, day, facts }: NamedLinkDay,
  shortUrl: ShortUrl,
  timeZone: string,
): string {
  const start = [dayText(day), shortUrl(domain, alias), link]
  const values = exportedDimensions(facts).flatMap((dimension) =>
    sortedValues(facts.breakdowns[dimension]).map(([value, clicks]) => {
      return [dimension, dimension === 'rules' && value === null ? '(none)' : shown(value), clicks, '', '', '']
    }),
  )
  return [['total', '', ...Object.values(shownCounts(sumHours(facts)))], ...values]
    .map((rest) => csvRow([...start, ...rest, timeZone]))
    .join('')
}

/** Only names of rules have brackets. */
function shown(value: Value): string {
  return value === null ? '(unknown)' : value === other ? '(other)' : String(value)
}
