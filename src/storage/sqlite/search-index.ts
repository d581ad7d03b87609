/**
 * The search index of SQLite. `<resource>_search` is an FTS5 index of trigrams, which a reader thread fills after the commit.
 * `<resource>_terms` lists its trigrams, each with its documents.
 * Triggers write the records that the index lacks to `search_changes`.
 *
 * A record is a document of the index. Its number has the account above the bits of the id, so that the documents of an
 * account are a range, and accounts do not slow down each other's searches. JavaScript needs a bigint for it.
 *
 * Kysely is not imported, because each thread would load its 300 modules.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Listable } from '../port.ts'

export const idBits = 40
export const maxId = 2 ** idBits - 1

/** SQL for the id of a document's record. */
export const idOf = `(document & ${maxId})`

/** Ends each indexed text twice, so that its last characters start a trigram, too. */
export const padding = '\u0001'

/** The tables whose records are indexed, by their names. */
export type IndexedTables = Readonly<Record<string, Pick<Listable<unknown>, 'searched'>>>

/** Records and characters that one transaction indexes. Writers wait for it: it takes some milliseconds. */
const batchSize = 200
const batchCharacters = 30_000

/** Indexes some of the records in `search_changes`, in one transaction. Returns whether there were any. */
export function indexSome(db: DatabaseSync, tables: IndexedTables): boolean {
  const [pending] = db.prepare('select resource from search_changes limit 1').all()
  if (pending === undefined) return false
  const table = String(pending.resource)
  const { searched = {} } = tables[table] ?? {}
  db.exec('begin immediate')
  try {
    const batch = `select document from search_changes
      where resource = '${table}' and document <= ${lastOfBatch(db, table, Object.values(searched))}`
    db.exec(`
      delete from ${table}_search where rowid in (${batch});
      insert into ${table}_search (rowid, ${Object.keys(searched).join(', ')})
        select document, ${Object.values(searched).map((text) => `${text} || char(1, 1)`)}
        from (${batch}) cross join ${table} on id = ${idOf} and account_id = document >> ${idBits} order by document;
      delete from search_changes where resource = '${table}' and document in (${batch});
      commit`)
  } catch (error) {
    // Some errors have ended the transaction already.
    if (db.isTransaction) db.exec('rollback')
    throw error
  }
  return true
}

/** Returns the document up to which the pending documents of a table make one batch. */
function lastOfBatch(db: DatabaseSync, table: string, texts: readonly string[]): bigint {
  const size = texts.map((text) => `ifnull(length(${text}), 0)`).join(' + ')
  const sizes = db.prepare(`select document, ifnull(${size}, 0) as size
    from (select document from search_changes where resource = '${table}' order by document limit ${batchSize})
    left join ${table} on id = ${idOf}`)
  sizes.setReadBigInts(true)
  let last = 0n
  let characters = 0
  for (const row of sizes.iterate()) {
    last = row.document as bigint
    characters += Number(row.size)
    if (characters >= batchCharacters) break
  }
  return last
}
