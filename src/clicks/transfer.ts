import { dayOf } from '../storage/clicks/keys.ts'
import type { Db } from '../storage/port.ts'
import { checked, type Detail, hereOf, type Members, type Target, Unusable } from '../transfer/transferable.ts'
import { dayMembers, readDay } from './day-line.ts'
import { dayFrom, dayText } from './days.ts'
import { type DayStored, daysOfLinks, type LinkDay, storeDays } from './store.ts'

/** The days of a period, both ends included, and whether lines have the short links too. */
export interface Period {
  readonly from: number
  readonly to: number
  readonly isNamed: boolean
}

/** The clicks of links by day, in exports and imports: a line for each day of a link. */
export function clicksOfPeriod({ from, to, isNamed }: Period): Detail<LinkDay> {
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
  }
}

/** All of them. */
export const clickTransfer = clicksOfPeriod({ from: 0, to: Number.POSITIVE_INFINITY, isNamed: false })

/** Reads a line; its link is that of the file. */
function read({ link_id, short_link: _, day, ...members }: Members): LinkDay {
  if (!(Number.isSafeInteger(link_id) && Number(link_id) > 0)) {
    throw new Unusable('link_id: The line needs the id that the link has in the file.')
  }
  const number = typeof day === 'string' ? dayFrom(day) : undefined
  if (number === undefined) throw new Unusable('day: Days are written in UTC, such as 2026-11-20.')
  if (number > dayOf(Date.now())) throw new Unusable('day: The day is in the future.')
  return { link: Number(link_id), day: number, facts: checked(readDay(members)) }
}

const links = { plural: 'links', singular: 'link' }

async function store(tx: Db, target: Target, days: readonly LinkDay[]): Promise<('stored' | 'known' | Unusable)[]> {
  const here = days.map((day) => dayHere(target, day))
  const usable = here.filter((day): day is LinkDay => !(day instanceof Unusable))
  const stored = (await storeDays(tx, target.account, usable)).values()
  return here.map((day) => (day instanceof Unusable ? day : told(stored.next().value as DayStored, day)))
}

/** The day with the id that its link has here. */
function dayHere(target: Target, day: LinkDay): LinkDay | Unusable {
  try {
    return { ...day, link: hereOf(target, links, day.link) }
  } catch (error) {
    return error as Unusable
  }
}

function told(became: DayStored, { link, day }: LinkDay): 'stored' | 'known' | Unusable {
  if (became === 'gone') return new Unusable('link_id: The link has just been deleted here.')
  if (became !== 'other') return became
  return new Unusable(
    `day: The link ${link} has other clicks on ${dayText(day)} here, and keeps them. To have those of the file, forget its clicks here (DELETE /api/v1/links/${link}/clicks), then import again.`,
  )
}
