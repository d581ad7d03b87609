/**
 * Folds stored texts again: without U+FE0E and U+FE0F, and URLs in all spellings. Two aliases of a domain, or two tags of an
 * account, may then be the same. The older record keeps its name, unless the newer one has neither character, and the other
 * one gets a number: `❤️-2`.
 */
import { foldCase } from '../../lib/text.ts'
import { foldUrl } from '../../lib/url-search.ts'
import type { MigrationDb, MigrationStep } from '../migrate.ts'
import type { Dialect } from './dialect.ts'

/** Records that are read together. */
const batchSize = 1_000

/** Returns the step of the migration. */
export function foldAgain({ engine }: Dialect): MigrationStep[] {
  return [
    async (db) => {
      await foldLinks(db, engine)
      await foldNames(db, 'tags', 'account_id', 'name')
      await foldNames(db, 'links', 'domain_id', 'alias')
      await foldSpaces(db)
    },
  ]
}

type Texts = Readonly<Record<string, string | null>> & { readonly id: number | string }

const textIndexes = 'links_by_text, links_by_title_text, links_by_url_text'

/** SQL for URLs that `foldUrl` may change. */
const hasSpellings = {
  sqlite: `url glob '*[^ -~]*' or url glob '*["%''<>^\`{}]*' or url like '%xn--%'`,
  postgres: `url ~* '[^ -~]|["%''<>^\`{}]|xn--'`,
}

/** Folds the titles and URLs of links. */
async function foldLinks(db: MigrationDb, engine: Dialect['engine']): Promise<void> {
  const isAffected = `(${hasSelector('title')} or ${hasSpellings[engine]})`
  const isAny = (await db.run(`select 1 from links where ${isAffected} limit 1`)).length > 0
  // Updates would take several times as long. The server creates missing indexes again when it has started.
  if (isAny && engine === 'postgres') await db.run(`drop index if exists ${textIndexes}`)
  for await (const links of batches(db, 'links', 'id, title, title_folded, url, url_folded', isAffected)) {
    const changed = links.flatMap(({ id, title = null, title_folded, url, url_folded }) => {
      const title_now = title === null ? null : unlessSame(foldCase(title), title)
      const url_now = unlessSame(foldUrl(url ?? ''), url ?? '')
      const isSame = title_now === title_folded && url_now === url_folded
      return isSame ? [] : [`(${id}, ${literal(title_now)}, ${literal(url_now)})`]
    })
    if (changed.length === 0) continue
    await db.run(`update links set title_folded = column2, url_folded = column3
      from (values ${changed.join(', ')}) as folded where id = column1`)
  }
}

async function foldSpaces(db: MigrationDb): Promise<void> {
  for await (const spaces of batches(db, 'spaces', 'id, name', hasSelector('name'))) {
    for (const { id, name } of spaces) {
      await db.run(`update spaces set name_folded = ${literal(foldCase(name ?? ''))} where id = ${id}`)
    }
  }
}

/** Folds names that are unique for an owner. Renames the records whose folded name another one has by now. */
async function foldNames(db: MigrationDb, table: 'links' | 'tags', owner: string, column: string): Promise<void> {
  const rows = batches(db, table, `id, ${owner} as owner, ${column} as name`, hasSelector(column))
  const now = literal(new Date().toISOString())
  for await (const records of rows) {
    for (const { id, owner: own, name } of records) {
      const free = await freeName(db, name ?? '', (folded) => {
        return `${table} where ${owner} = ${own} and ${column}_folded = ${literal(folded)} and id <> ${id}`
      })
      const renamed =
        free === name ? '' : `, ${column} = ${literal(free)}, revision = revision + 1, updated_at = ${now}`
      await db.run(`update ${table} set ${column}_folded = ${literal(foldCase(free))} ${renamed} where id = ${id}`)
    }
  }
}

/** Returns the name, or the name with the first number that makes it free. */
async function freeName(db: MigrationDb, name: string, taken: (folded: string) => string): Promise<string> {
  let free = name
  for (let n = 2; (await db.run(`select 1 from ${taken(foldCase(free))}`)).length > 0; n++) free = `${name}-${n}`
  return free
}

/** Reads the rows by id, in batches. */
async function* batches(db: MigrationDb, table: string, columns: string, where: string): AsyncGenerator<Texts[]> {
  let last: Texts['id'] = 0
  let rows: Texts[]
  do {
    const next = `select ${columns} from ${table} where id > ${last} and ${where} order by id limit ${batchSize}`
    rows = (await db.run(next)) as Texts[]
    last = rows.at(-1)?.id ?? 0
    yield rows
  } while (rows.length === batchSize)
}

function hasSelector(column: string): string {
  return `(${column} like '%\ufe0e%' or ${column} like '%\ufe0f%')`
}

function literal(text: string | null): string {
  return text === null ? 'null' : `'${text.replaceAll("'", "''")}'`
}

function unlessSame(folded: string, text: string): string | null {
  return folded === text ? null : folded
}
