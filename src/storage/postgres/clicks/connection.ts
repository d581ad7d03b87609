import type { PoolClient } from 'pg'
import {
  addedToIn,
  type ClickConnection,
  type ClickTables,
  type DayKey,
  ownerColumns,
  ownersIn,
} from '../../clicks/tables.ts'
import { statementName } from '../compiled.ts'
import { translated } from '../errors.ts'
import { Pool } from '../pool.ts'
import { runText } from '../run.ts'
import { retry } from '../transaction.ts'
import { upkeepOf } from './upkeep.ts'

/** Opens the tables of clicks of a database that has been migrated, with one connection. */
export function openPostgresClicks(url: string): ClickConnection {
  const pool = new Pool(url, 1)
  return {
    write: (work) => retry(() => pool.with((client) => transact(client, () => work(tablesOf(client))))),
    // A deleted row stays in its page until the table is written again.
    scrub: () => pool.with(async (client) => void (await runText(client, 'vacuum full click_salts', []))),
    close: () => pool.close(),
  }
}

async function transact<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  await runText(client, 'begin', [])
  try {
    const result = await work()
    await client.query('commit').catch((error) => {
      throw translated(error)
    })
    return result
  } catch (error) {
    // A connection that is lost has ended the transaction.
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

interface Named {
  readonly text: string
  readonly name: string
}

const named = (text: string): Named => ({ text, name: statementName(text) })

const saltAdded = named(`insert into click_salts as kept (day, salt) values ($1, $2)
  on conflict (day) do update set salt = excluded.salt where length(kept.salt) = 0`)
const saltOfDay = named('select salt from click_salts where day = $1')

const batchNoted = named(`insert into click_batches as kept (writer, batch, day) values ($1, $2, $3)
  on conflict (writer) do update set batch = excluded.batch, day = excluded.day where excluded.batch > kept.batch
  returning batch`)

/** Before their totals, as those who delete or change a link do. Links without a limit are not written to. */
const limitedLocked = named(`select id from links where id = any ($1::bigint[]) and clicks_limit is not null
  order by id for no key update`)

const totalsAdded = named(`
  with added as (
    select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
      as added (link_id, people, bots, previews, last_ms, seen_ms)
  ), locked as materialized (
    select link_id from link_clicks where link_id = any ($1::bigint[]) order by link_id for update
  )
  update link_clicks as kept set
    clicks = greatest(0, kept.clicks + people),
    bots = greatest(0, kept.bots + added.bots),
    previews = greatest(0, kept.previews + added.previews),
    last_clicked_ms = case when people > 0 and seen_ms > coalesce(forgotten_ms, -1)
      then greatest(kept.last_clicked_ms, last_ms) else kept.last_clicked_ms end
  from added join locked using (link_id)
  where kept.link_id = added.link_id
  returning kept.link_id, ${ownerColumns}, forgotten_ms`)

const clickTaken = named(`update link_clicks set
    clicks = clicks + 1, last_clicked_ms = greatest(last_clicked_ms, $2)
  where link_id = $1 and clicks < (select clicks_limit from links where id = $1)
  returning link_id, ${ownerColumns}`)

const limitsReached = named(`update links set status_due_at = ''
  where id = any ($1::bigint[]) and clicks_limit is not null and status <> 'expired'
    and clicks_limit <= (select clicks from link_clicks where link_id = links.id)`)

const visitorsAdded = named(`insert into click_visitors (day, link_id, visitor)
  select * from unnest($1::integer[], $2::bigint[], $3::bigint[]) as came (day, link_id, visitor)
  order by day, link_id, visitor on conflict do nothing
  returning day, link_id, visitor`)

/** Rows that are not there yet are made first, in the same order, so that they can be locked. */
const daysMade = named(`insert into click_days (scope, day, id, facts)
  select scope, day, id, '' from unnest($1::integer[], $2::integer[], $3::bigint[]) as asked (scope, day, id)
  order by scope, day, id on conflict do nothing`)
const daysLocked = named(`select kept.scope, kept.day, kept.id, facts
  from unnest($1::integer[], $2::integer[], $3::bigint[]) as asked (scope, day, id)
  join click_days as kept using (scope, day, id) order by kept.scope, kept.day, kept.id for update of kept`)
const daysSet = named(`update click_days as kept set facts = told.facts
  from unnest($1::integer[], $2::integer[], $3::bigint[], $4::bytea[]) as told (scope, day, id, facts)
  where kept.scope = told.scope and kept.day = told.day and kept.id = told.id`)

function tablesOf(client: PoolClient): ClickTables {
  const all = ({ text, name }: Named, ...values: unknown[]) => runText(client, text, values, name)
  return {
    async salt(day, fresh) {
      await all(saltAdded, day, Buffer.from(fresh))
      return (await all(saltOfDay, day))[0]?.[0] as Uint8Array
    },
    async noteBatch(writer, batch, day) {
      return (await all(batchNoted, writer, batch, day)).length > 0
    },
    async addTotals(added) {
      const columns = (['link', 'people', 'bots', 'previews', 'lastMs', 'seenMs'] as const).map((name) =>
        added.map((row) => row[name]),
      )
      await all(limitedLocked, columns[0])
      const found = (await all(totalsAdded, ...columns)).map(addedToIn).sort((a, b) => a.link - b.link)
      await all(
        limitsReached,
        found.map(({ link }) => link),
      )
      return found
    },
    async takeClick(link, atMs) {
      await all(limitedLocked, [link])
      const [taken] = (await all(clickTaken, link, atMs)).map(ownersIn)
      if (taken !== undefined) await all(limitsReached, [link])
      return taken
    },
    async addVisitors(visitors) {
      const columns = (['day', 'link', 'visitor'] as const).map((name) => visitors.map((row) => row[name]))
      const added = new Set((await all(visitorsAdded, ...columns)).map((row) => row.join(' ')))
      return visitors.map(({ day, link, visitor }) => added.has(`${day} ${link} ${visitor}`))
    },
    async days(keys) {
      const columns = columnsOf(keys)
      for (;;) {
        await all(daysMade, ...columns)
        const locked = await all(daysLocked, ...columns)
        // A transaction that we waited for may have deleted a row.
        if (locked.length === keys.length) return locked.map((row) => row[3] as Uint8Array)
      }
    },
    async setDays(keys, facts) {
      await all(daysSet, ...columnsOf(keys), facts)
    },
    ...upkeepOf((text, ...values) => runText(client, text, values)),
  }
}

function columnsOf(keys: readonly DayKey[]): number[][] {
  return (['scope', 'day', 'id'] as const).map((name) => keys.map((key) => key[name]))
}
