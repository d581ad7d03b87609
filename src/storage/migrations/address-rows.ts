import type { Dialect } from './dialect.ts'

/**
 * Makes each address a row of one table, main ones too. Two unique indexes decide whether an address is free.
 */
export function addressRows({ engine, id, integer, text, end, trigger }: Dialect): string[] {
  const isSqlite = engine === 'sqlite'
  const log = (row: 'new' | 'old') => `insert into changes (resource, record_id) values ('links', ${row}.link_id)`
  // An exact address is found before the address with the same folded alias, which the redirect server may have in memory.
  const logHidden = `insert into changes (resource, record_id) select 'links', link_id from addresses
    where domain_id = new.domain_id and alias_folded = new.alias_folded and exact = 0`
  const ends = isSqlite
    ? `substr(alias_folded, 1, instr(alias_folded, char(1)) - 1)`
    : `split_part(alias_folded, chr(1), 1)`
  const columns = 'account_id, link_id, domain_id, alias, alias_folded, exact, legacy, main, clicks, created_at'
  const values = (link: string, main: 0 | 1, clicks: string) =>
    `account_id, ${link}, domain_id, alias, case exact when 1 then ${ends} else alias_folded end, exact, legacy, ${main}, ${clicks}, created_at`
  // Deleting the statistics of a day left the clicks of further addresses.
  const rest = `${isSqlite ? 'max' : 'greatest'}(0, (select clicks from link_clicks where link_id = links.id)
    - (select coalesce(sum(clicks), 0) from link_addresses where link_id = links.id))`
  // The address of a link is stored first. On PostgreSQL, checking all rows at the end is faster.
  const ofLink = 'references links (id) on delete cascade deferrable initially deferred'
  const ofDomain = 'references domains (id)'
  return [
    `create table addresses (
      id ${id},
      account_id ${integer} not null,
      link_id ${integer} not null ${isSqlite ? ofLink : ''},
      domain_id ${integer} not null ${isSqlite ? ofDomain : ''},
      alias ${text} not null,
      alias_folded ${text} not null,
      exact integer not null,
      legacy integer not null,
      main integer not null,
      clicks ${integer} not null default 0,
      created_at text not null
    )${end}`,
    // Events restore deleted addresses with their ids.
    isSqlite
      ? `insert into sqlite_sequence (name, seq) select 'addresses', seq from sqlite_sequence where name = 'link_addresses'`
      : `select setval(pg_get_serial_sequence('addresses', 'id'), last_value, is_called) from link_addresses_id_seq`,
    `insert into addresses (id, ${columns}) select id, ${values('link_id', 0, 'clicks')} from link_addresses order by id`,
    `insert into addresses (${columns}) select ${values('id', 1, rest)} from links order by id`,
    'create unique index addresses_by_alias on addresses (domain_id, alias)',
    'create unique index addresses_by_folded_alias on addresses (domain_id, alias_folded) where exact = 0',
    'create index addresses_by_spelling on addresses (domain_id, alias_folded) where exact = 1',
    'create index addresses_by_link on addresses (link_id)',
    ...['exact_link_served', 'exact_link_edited'].flatMap((name) =>
      isSqlite ? [`drop trigger ${name}`] : [`drop trigger ${name} on links`, `drop function ${name}()`],
    ),
    'drop table link_addresses',
    ...(isSqlite
      ? []
      : [
          `alter table addresses add foreign key (link_id) ${ofLink}, add foreign key (domain_id) ${ofDomain}`,
          'drop trigger checked on links',
          ...['check_addresses', 'address_served', 'address_unserved', 'exact_address_served'].map(
            (name) => `drop function ${name}()`,
          ),
        ]),
    ...trigger('address_served', 'after insert on addresses', [log('new')], 'new.main = 0'),
    ...trigger('address_unserved', 'after delete on addresses', [log('old')], 'old.main = 0'),
    ...trigger('exact_address_served', 'after insert on addresses', [logHidden], 'new.exact = 1'),
  ]
}
