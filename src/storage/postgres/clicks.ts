import type { Clicks } from '../port.ts'
import { newName } from './compiled.ts'
import { isBroken, translated } from './errors.ts'
import type { Connection, Pool } from './pool.ts'
import { retry } from './retry.ts'
import { runText } from './run.ts'

/** Locks the rows in the order of their ids, as every node does, so that none waits for another in a circle. */
const added = `
  with told as (
    select * from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as told (link_id, clicks, at)
  ), locked as materialized (
    select link_id from link_clicks where link_id = any ($1::bigint[]) order by link_id for no key update
  )
  update link_clicks set
    clicks = link_clicks.clicks + told.clicks,
    last_clicked_ms = greatest(link_clicks.last_clicked_ms, told.at)
  from told join locked using (link_id)
  where link_clicks.link_id = told.link_id`
const addedName = newName()

/** A statement of its own, which sees limits that were set while the rows were waited for. */
const reached = `
  update links set status_due_at = ''
  from unnest($1::bigint[], $2::bigint[]) as told (link_id, clicks) join link_clicks using (link_id)
  where links.id = link_id and clicks_limit is not null
    and clicks_limit <= link_clicks.clicks and clicks_limit > link_clicks.clicks - told.clicks`
const reachedName = newName()

/** See `Storage.addClicks`. */
export async function addClicks(pool: Pool, clicks: readonly Clicks[]): Promise<boolean> {
  const columns = [
    clicks.map(({ id }) => id),
    clicks.map((each) => each.clicks),
    clicks.map(({ lastClickedAt }) => lastClickedAt),
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
  const [ids, clicks] = columns
  await runText(client, 'begin', [])
  try {
    await runText(client, added, columns, addedName)
    await runText(client, reached, [ids, clicks], reachedName)
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
