import type { Dialect } from './dialect.ts'

/**
 * Adds rules to links and files of apps to domains. The triggers of the log of changes follow the revision of a record, so that
 * they need no list of columns. Rules depend on the time zone of their account, so its changes are logged too.
 */
export function ruleColumns({ engine, text, trigger }: Dialect): string[] {
  const drop = (name: string, table: string) =>
    engine === 'sqlite' ? [`drop trigger ${name}`] : [`drop trigger ${name} on ${table}`, `drop function ${name}()`]
  const log = (resource: string) => `insert into changes (resource, record_id) select '${resource}', new.id`
  const isOther = (column: string) => `new.${column} is distinct from old.${column}`
  return [
    `alter table links add column rules ${text}`,
    `alter table domains add column apple_app_site_association ${text}`,
    `alter table domains add column asset_links ${text}`,
    `alter table domain_checks add column files text not null default '{}'`,
    ...drop('link_edited', 'links'),
    ...trigger('link_edited', 'after update of revision on links', [log('links')], isOther('revision')),
    ...drop('domain_edited', 'domains'),
    // The removal of a domain changes its account and its name.
    ...trigger(
      'domain_edited',
      'after update of revision, account_id, name on domains',
      [log('domains')],
      ['revision', 'account_id', 'name'].map(isOther).join(' or '),
    ),
    ...trigger('time_zone_changed', 'after update of time_zones on accounts', [log('accounts')], isOther('time_zones')),
  ]
}
