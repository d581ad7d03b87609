import type { MigrationDb, MigrationStep } from '../migrate.ts'
import type { Dialect } from './dialect.ts'

/**
 * Takes the unique key from `links`, because `addresses` decides which addresses are free, and each key costs a store a page.
 * The index that replaces it finds the links of a domain.
 */
export function linkKeys({ engine }: Dialect): MigrationStep[] {
  return [
    engine === 'sqlite' ? writeAgain : 'alter table links drop constraint links_domain_id_alias_folded_key',
    'create index links_by_domain on links (domain_id, id)',
  ]
}

/** Writes the table again, because SQLite can't drop a constraint (https://sqlite.org/lang_altertable.html#otheralter). */
async function writeAgain(db: MigrationDb): Promise<void> {
  const parts = (await db.run(
    `select type, name, sql from sqlite_schema where tbl_name = 'links' and sql is not null`,
  )) as readonly Readonly<Record<'type' | 'name' | 'sql', string>>[]
  const partsOf = (wanted: string) => parts.filter(({ type }) => type === wanted)
  const [table] = partsOf('table')
  const created = table?.sql
    .replace(/^create table \S+/i, 'create table links_again')
    .replace(/\bunique \(domain_id, alias_folded\),/, '')
  const steps = [
    // Otherwise, renaming would change and check the triggers of other tables.
    'pragma legacy_alter_table = on',
    // The new table fills their pages.
    ...partsOf('index').map(({ name }) => `drop index ${name}`),
    String(created),
    'insert into links_again select * from links',
    // A deleted link may have the highest id.
    `delete from sqlite_sequence where name = 'links_again'`,
    `insert into sqlite_sequence (name, seq) select 'links_again', seq from sqlite_sequence where name = 'links'`,
    'drop table links',
    'alter table links_again rename to links',
    'pragma legacy_alter_table = off',
    ...[...partsOf('index'), ...partsOf('trigger')].map(({ sql }) => sql),
  ]
  for (const step of steps) await db.run(step)
}
