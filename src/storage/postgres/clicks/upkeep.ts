import { ownerColumns, ownersIn, type Scope, scopes, type Upkeep } from '../../clicks/tables.ts'

/** Runs a statement; its rows are arrays. */
export type Run = (text: string, ...values: unknown[]) => Promise<unknown[][]>

/** Rows that one statement deletes. */
const deletedAtOnce = 5_000
/** Records whose days are deleted together. */
const removedAtOnce = 500

/** Steps from one day to the next, however many rows a day has. */
const daysOfScope = `with recursive step (day) as (
    select min(day) from click_days where scope = $1
    union all select (select min(day) from click_days where scope = $1 and day > step.day) from step where day is not null
  ) select day from step where day is not null`
const daysOfId = `${daysOfScope} and exists (select 1 from click_days where scope = $1 and day = step.day and id = $2)`

/** Before its totals: see `connection.ts`. */
const limitedLocked = 'select id from links where id = $1 and clicks_limit is not null for no key update'
/** A link goes with its domain, at once for all who ask. */
const ownersOf = `select link_id, ${ownerColumns} from link_clicks
  where account_id = $1 and link_id = $2
    and exists (select 1 from links join domains on domains.id = links.domain_id and domains.account_id = links.account_id
      where links.id = link_id)
  for update of link_clicks`
const cleared = `update link_clicks set clicks = 0, bots = 0, previews = 0, last_clicked_ms = null,
  forgotten_ms = $2, former_space_id = null, former_before = 0 where link_id = $1`
const limitFreed = `update links set status_due_at = '' where id = $1 and clicks_limit is not null returning id`
/** Visitors notice that a link that was used up works again. */
const freeingTold = `insert into changes (resource, record_id) values ('links', $1)`

const nextMove = `select link_id, ${ownerColumns}
  from click_moves join link_clicks using (link_id)
  order by link_id limit 1 for update of link_clicks, click_moves skip locked`
/** Not along with the locks: the link may have moved on before they were taken, and would be read as it was. */
const spaceOf = 'select space_id from links where id = $1'

const spacesSet = 'update link_clicks set space_id = $1, former_space_id = $2, former_before = $3 where link_id = $4'

const someVisitors = `delete from click_visitors where ctid = any (array
  (select ctid from click_visitors where day < $1 limit ${deletedAtOnce})) returning day`
const someDays = `delete from click_days where ctid = any (array
  (select ctid from click_days where scope = $1 and day < $2 limit ${deletedAtOnce})) returning day`

/** The space of a link's clicks and that of the link differ until the clicks have moved. */
const nextRemovals = `with gone as (select scope, id from click_removals
    where scope <> ${scopes.space} or not exists
      (select 1 from click_moves join link_clicks using (link_id) where click_removals.id in (space_id, former_space_id)))
  select scope, array_agg(id) from (select scope, id from gone
    where scope = (select min(scope) from gone) limit ${removedAtOnce}) as removed group by scope`

/** What is put right and cleared away, by statements that `all` runs. */
export function upkeepOf(all: Run): Upkeep {
  return {
    async owners(account, link) {
      await all(limitedLocked, link)
      return (await all(ownersOf, account, link)).map(ownersIn)[0]
    },
    async clearTotals(link, atMs) {
      await all(cleared, link, atMs)
      await all('delete from click_visitors where link_id = $1 and day in (select day from click_salts)', link)
      if ((await all(limitFreed, link)).length > 0) await all(freeingTold, link)
    },
    async daysOf(scope, id) {
      const rows = await (id === undefined ? all(daysOfScope, scope) : all(daysOfId, scope, id))
      return rows.map(([day]) => Number(day))
    },
    async deleteDays(scope, day, ids) {
      await all('delete from click_days where scope = $1 and day = $2 and id = any ($3::bigint[])', scope, day, ids)
    },
    async nextMove() {
      const [row] = await all(nextMove)
      if (row === undefined) return undefined
      const owners = ownersIn(row)
      const [link] = await all(spaceOf, owners.link)
      return { owners, to: (link?.[0] ?? null) as number | null }
    },
    async setSpaces({ link, space, formerSpace, formerBefore }) {
      await all(spacesSet, space, formerSpace, formerBefore, link)
    },
    async endMove(link) {
      await all('delete from click_moves where link_id = $1', link)
    },
    async nextRemovals() {
      const [row] = await all(nextRemovals)
      return row && { scope: row[0] as Scope, ids: (row[1] as (number | string)[]).map(Number) }
    },
    async endRemovals(scope, ids) {
      await all('delete from click_removals where scope = $1 and id = any ($2::bigint[])', scope, ids)
    },
    async deleteVisitors(day) {
      return (await all(someVisitors, day)).length === deletedAtOnce
    },
    async blankSalts(day) {
      return (await all(`update click_salts set salt = '' where day < $1 returning day`, day)).length > 0
    },
    async deleteSalts(day) {
      await all('delete from click_batches where day < $1', day)
      await all('delete from click_salts where day < $1', day)
    },
    async deleteDaysBefore(day) {
      let isMore = false
      for (const scope of Object.values(scopes)) {
        isMore = (await all(someDays, scope, day)).length === deletedAtOnce || isMore
      }
      return isMore
    },
  }
}
