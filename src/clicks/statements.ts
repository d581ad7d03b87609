/** The SQL of what clicks leave to do; `store.ts` says what it is for. */
import { type Kysely, sql } from 'kysely'
import { statement } from '../storage/statement.ts'
import type { Bounds } from './writer.ts'

interface OfDay {
  day: number
}

interface Tables {
  click_days: OfDay & { scope: number }
  click_visitors: OfDay
  click_salts: OfDay
  click_moves: { link_id: number }
  click_removals: { id: number }
}

/** One row if any upkeep is due. */
export const selectDue = statement((db: Kysely<Tables>, { visitorsBefore, daysBefore }: Bounds) =>
  db
    .selectNoFrom(sql<number>`1`.as('due'))
    .where(({ or, exists, selectFrom }) =>
      or([
        exists(selectFrom('click_salts').select('day').where('day', '<', visitorsBefore)),
        exists(selectFrom('click_visitors').select('day').where('day', '<', visitorsBefore)),
        ...[0, 1, 2, 3].map((scope) =>
          exists(
            selectFrom('click_days').select('day').where('scope', '=', sql.lit(scope)).where('day', '<', daysBefore),
          ),
        ),
        exists(selectFrom('click_moves').select('link_id')),
        exists(selectFrom('click_removals').select('id')),
      ]),
    ),
)
