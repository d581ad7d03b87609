import type { Clicks } from '../port.ts'
import { newName } from './compiled.ts'
import { isBroken, translated } from './errors.ts'
import type { Connection, Pool } from './pool.ts'
import { retry } from './retry.ts'
import { runText } from './run.ts'

/** Locks the rows in the order of their ids, as every node does, so that none waits for another in a circle. */
const added = `
  with told as (
    select * from unnest($1::bigint[], $2::bigint[], $3::text[]) as told (id, clicks, at)
  ), locked as materialized (
    select id from links where id = any ($1::bigint[]) order by id for no key update
  )
  update links set
    clicks = links.clicks + told.clicks,
    last_clicked_at = greatest(links.last_clicked_at, told.at),
    status_due_at = case
      when links.clicks < clicks_limit and links.clicks + told.clicks >= clicks_limit then '' else status_due_at
    end
  from told join locked using (id)
  where links.id = told.id`
const addedName = newName()

/** See `Storage.addClicks`: one statement for all, a third of what a statement each takes. */
export async function addClicks(pool: Pool, clicks: readonly Clicks[]): Promise<boolean> {
  const columns = [
    clicks.map(({ id }) => id),
    clicks.map((each) => each.clicks),
    clicks.map(({ lastClickedAt }) => new Date(lastClickedAt).toISOString()),
  ]
  let isCommitting = false
  try {
    await retry(() => {
      isCommitting = false
      return pool.with(async (client) => {
        await inTransaction(client, columns)
        isCommitting = true
        await commit(client)
      })
    })
    return true
  } catch (error) {
    if (isCommitting && isBroken(error)) return false
    throw error
  }
}

async function inTransaction(client: Connection, columns: unknown[]): Promise<void> {
  await runText(client, 'begin', [])
  try {
    await runText(client, added, columns, addedName)
  } catch (error) {
    await runText(client, 'rollback', [])
    throw error
  }
}

async function commit(client: Connection): Promise<void> {
  try {
    await client.query('commit')
  } catch (error) {
    throw translated(error)
  }
}
