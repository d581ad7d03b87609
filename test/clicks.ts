/** The tables of clicks as tests read them: what is kept of days, totals and visitors. */
import type { Kysely } from 'kysely'
import { type DayFacts, dimensions, peopleOf } from '../src/storage/clicks/day-facts.ts'
import { decodeDay } from '../src/storage/clicks/day-form.ts'
import type { Db } from '../src/storage/port.ts'
import { statement } from '../src/storage/statement.ts'

interface Tables {
  click_days: { scope: number; day: number; id: number; facts: Uint8Array }
  link_clicks: {
    link_id: number
    clicks: number
    bots: number
    previews: number
    space_id: number | null
    last_clicked_ms: number | null
  }
  click_visitors: { day: number; link_id: number; visitor: number }
  click_salts: { day: number; salt: Uint8Array }
}

const allDays = statement((db: Kysely<Tables>) =>
  db.selectFrom('click_days').selectAll().orderBy('scope').orderBy('day').orderBy('id'),
)

const allTotals = statement((db: Kysely<Tables>) =>
  db
    .selectFrom('link_clicks')
    .select(['link_id', 'clicks', 'bots', 'previews', 'space_id', 'last_clicked_ms'])
    .orderBy('link_id'),
)

const allSalts = statement((db: Kysely<Tables>) => db.selectFrom('click_salts').selectAll().orderBy('day'))
const allVisitors = statement((db: Kysely<Tables>) => db.selectFrom('click_visitors').selectAll())

export interface KeptDay {
  readonly scope: number
  readonly day: number
  readonly id: number
  readonly facts: DayFacts
}

/** All days that are kept. */
export async function keptDays(db: Db): Promise<KeptDay[]> {
  return (await db.all(allDays, {})).map((row) => ({ ...row, facts: decodeDay(row.facts) }))
}

export async function keptTotals(db: Db) {
  return (await db.all(allTotals, {})).map((row) => ({ ...row }))
}

export const keptSalts = (db: Db) => db.all(allSalts, {})
export const keptVisitors = (db: Db) => db.all(allVisitors, {})

/** The clicks of a day by class, and whether each of its dimensions adds up to its people. */
export function sumsOf({ hours, breakdowns }: DayFacts) {
  const sums = { people: 0, unique: 0, bots: 0, previews: 0 }
  for (const hour of hours.values()) for (const name of classes) sums[name] += hour[name]
  const people = peopleOf({ hours })
  const addUp = dimensions.filter((dimension) => {
    const sum = [...breakdowns[dimension].values()].reduce((a, b) => a + b, 0)
    return sum === people
  })
  return { ...sums, addUp }
}

const classes = ['people', 'unique', 'bots', 'previews'] as const
