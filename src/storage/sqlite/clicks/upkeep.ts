import type { SQLOutputValue } from 'node:sqlite'
import { ownerColumns, ownersIn, type Scope, scopes, type Upkeep } from '../../clicks/tables.ts'
import type { Params } from '../prepared.ts'

/** Runs a statement to its end; its rows are arrays. */
export type Run = (sql: string, ...values: Params) => SQLOutputValue[][]

/** Rows that one statement deletes, in some milliseconds. */
const deletedAtOnce = 1_000
/** Records whose days are deleted together. */
const removedAtOnce = 500

/** Steps from one day to the next, however many rows a day has. */
const daysOfScope = `with recursive step (day) as (
    select min(day) from click_days where scope = :scope
    union all select (select min(day) from click_days where scope = :scope and day > step.day) from step
    where day is not null
  ) select day from step where day is not null`
const daysOfId = `${daysOfScope} and exists (select 1 from click_days where scope = :scope and day = step.day and id = :id)`

/** A link goes with its domain, at once for all who ask. */
const ownersOf = `select link_id, ${ownerColumns} from link_clicks
  where account_id = ? and link_id = ?
    and exists (select 1 from links join domains on domains.id = links.domain_id and domains.account_id = links.account_id
      where links.id = link_id)`
const cleared = `update link_clicks set clicks = 0, bots = 0, previews = 0, last_clicked_ms = null,
  forgotten_ms = :atMs, former_space_id = null, former_before = 0 where link_id = :link`
const limitFreed = `update links set status_due_at = '' where id = ? and clicks_limit is not null returning id`
/** Visitors notice that a link that was used up works again. */
const freeingTold = `insert into changes (resource, record_id) values ('links', ?)`

const nextMove = `select link_id, ${ownerColumns.replace(/\w+/g, 'link_clicks.$&')}, links.space_id
  from click_moves join link_clicks using (link_id) join links on links.id = link_id order by link_id limit 1`

/** The space of a link's clicks and that of the link differ until the clicks have moved. */
const nextRemovals = `with gone as (select scope, id from click_removals
    where scope <> ${scopes.space} or not exists
      (select 1 from click_moves join link_clicks using (link_id) where click_removals.id in (space_id, former_space_id)))
  select scope, json_group_array(id) from (select scope, id from gone
    where scope = (select min(scope) from gone) limit ${removedAtOnce}) group by scope`

const spacesSet = 'update link_clicks set space_id = ?, former_space_id = ?, former_before = ? where link_id = ?'

const someVisitors = `delete from click_visitors where (day, link_id, visitor) in
  (select day, link_id, visitor from click_visitors where day < ? limit ${deletedAtOnce}) returning day`
const someDays = `delete from click_days where (scope, day, id) in
  (select scope, day, id from click_days where scope = ? and day < ? limit ${deletedAtOnce}) returning day`

/** What is put right and cleared away, by statements that `all` runs. */
export function upkeepOf(all: Run): Upkeep {
  return {
    async owners(account, link) {
      return all(ownersOf, account, link).map(ownersIn)[0]
    },
    async clearTotals(link, atMs) {
      all(cleared, { link, atMs })
      all('delete from click_visitors where link_id = ? and day in (select day from click_salts)', link)
      if (all(limitFreed, link).length > 0) all(freeingTold, link)
    },
    async daysOf(scope, id) {
      return all(id === undefined ? daysOfScope : daysOfId, { scope, id: id ?? 0 }).map(([day]) => Number(day))
    },
    async deleteDays(scope, day, ids) {
      const sql = 'delete from click_days where scope = ? and day = ? and id in (select value from json_each(?))'
      all(sql, scope, day, JSON.stringify(ids))
    },
    async nextMove() {
      const [row] = all(nextMove)
      return row && { owners: ownersIn(row), to: row.at(-1) as number | null }
    },
    async setSpaces({ link, space, formerSpace, formerBefore }) {
      all(spacesSet, space, formerSpace, formerBefore, link)
    },
    async endMove(link) {
      all('delete from click_moves where link_id = ?', link)
    },
    async nextRemovals() {
      const [row] = all(nextRemovals)
      return row && { scope: row[0] as Scope, ids: JSON.parse(String(row[1])) }
    },
    async endRemovals(scope, ids) {
      const sql = 'delete from click_removals where scope = ? and id in (select value from json_each(?))'
      all(sql, scope, JSON.stringify(ids))
    },
    async deleteVisitors(day) {
      return all(someVisitors, day).length === deletedAtOnce
    },
    async blankSalts(day) {
      return all(`update click_salts set salt = x'' where day < ? returning day`, day).length > 0
    },
    async deleteSalts(day) {
      all('delete from click_batches where day < ?', day)
      all('delete from click_salts where day < ?', day)
    },
    async deleteDaysBefore(day) {
      const gone = Object.values(scopes).map((scope) => all(someDays, scope, day).length)
      return gone.includes(deletedAtOnce)
    },
  }
}
