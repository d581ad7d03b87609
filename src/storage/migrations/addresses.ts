import type { Dialect } from './dialect.ts'

/**
 * Adds further addresses of links, and exact addresses. `alias_folded` is the key of an address: see `addressKey`. Each table has
 * an index of unique keys. Statements check both tables, and what they can't see is prevented by locks: see `links/addresses.ts`.
 */
export function addressTables({ engine, id, integer, text, end, trigger }: Dialect): string[] {
  const isSqlite = engine === 'sqlite'
  const log = (row: 'new' | 'old') => `insert into changes (resource, record_id) values ('links', ${row}.link_id)`
  // An exact address is found before the address with the same folded alias, which the redirect server may have in memory.
  const hidden = (table: string, column: string) =>
    `insert into changes (resource, record_id) select 'links', ${column} from ${table}
      where domain_id = new.domain_id and alias_folded = ${folded('new', isSqlite)}`
  const logHidden = [hidden('links', 'id'), hidden('link_addresses', 'link_id')]
  return [
    'alter table links add column exact integer not null default 0',
    'alter table links add column legacy integer not null default 0',
    `create table link_addresses (
      id ${id},
      account_id ${integer} not null,
      link_id ${integer} not null references links (id) on delete cascade,
      domain_id ${integer} not null references domains (id),
      alias text not null,
      alias_folded ${text} not null,
      exact integer not null,
      legacy integer not null,
      clicks ${integer} not null default 0,
      created_at text not null,
      unique (domain_id, alias_folded)
    )${end}`,
    'create index link_addresses_by_alias on link_addresses (account_id, alias_folded)',
    'create index link_addresses_by_link on link_addresses (link_id, id)',
    ...trigger('address_served', 'after insert on link_addresses', [log('new')]),
    ...trigger('address_unserved', 'after delete on link_addresses', [log('old')]),
    ...trigger('exact_address_served', 'after insert on link_addresses', logHidden, 'new.exact = 1'),
    ...trigger('exact_link_served', 'after insert on links', logHidden, 'new.exact = 1'),
    ...trigger('exact_link_edited', 'after update of alias_folded, domain_id on links', logHidden, 'new.exact = 1'),
    ...(isSqlite ? [] : [checkedAddresses, checkOfLinks]),
  ]
}

function folded(row: string, isSqlite: boolean): string {
  const key = `${row}.alias_folded`
  return isSqlite ? `substr(${key}, 1, instr(${key}, char(1)) - 1)` : `split_part(${key}, chr(1), 1)`
}

/**
 * Rejects a new link that has waited for the lock of a transaction which stored the same address. Triggers of statements run
 * after those of foreign keys, which wait for that lock.
 */
const checkedAddresses = `create function check_addresses() returns trigger language plpgsql as $$
  begin
    if exists (
      select 1 from changed join link_addresses as other on other.domain_id = changed.domain_id
        and other.alias_folded in (split_part(changed.alias_folded, chr(1), 1), split_part(changed.alias_folded, chr(1), 1) || chr(1) || changed.alias)
        and (other.alias_folded = changed.alias_folded or other.alias = changed.alias)
    ) or exists (
      select 1 from changed join links as other on other.domain_id = changed.domain_id and other.id <> changed.id
        and other.alias_folded in (split_part(changed.alias_folded, chr(1), 1), split_part(changed.alias_folded, chr(1), 1) || chr(1) || changed.alias)
        and other.alias = changed.alias
    ) then
      raise unique_violation using constraint = 'link_addresses';
    end if;
    return null;
  end $$`

const checkOfLinks = `create trigger checked after insert on links referencing new table as changed
  for each statement execute function check_addresses()`
