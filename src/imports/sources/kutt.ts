import type { SourceTable } from '../source-table.ts'

export const kutt: SourceTable = {
  source: 'kutt',
  isCaseSensitive: true,
  formats: [
    // Instances on SQLite have times without an offset.
    { kind: 'json', list: 'data', requires: ['address', 'target', 'visit_count'], timeZone: 'UTC' },
    { kind: 'sql', requires: ['address', 'target', 'visit_count'], key: ['id'], hostKey: 'domain_id' },
    { kind: 'sql', requires: ['id', 'address', 'homepage'], key: ['id'], hosts: 'address' },
    {
      kind: 'sql',
      requires: ['link_id', 'br_chrome', 'os_ios'],
      clicks: {
        time: 'created_at',
        key: ['link_id'],
        total: 'total',
        browsers: {
          br_chrome: 'Chrome',
          br_edge: 'Microsoft Edge',
          br_firefox: 'Firefox',
          br_ie: 'Internet Explorer',
          br_opera: 'Opera',
          br_other: '',
          br_safari: 'Safari',
        },
        operatingSystems: {
          os_android: 'Android',
          os_ios: 'iOS',
          os_linux: 'Linux',
          os_macos: 'macOS',
          os_other: '',
          os_windows: 'Windows',
        },
        countries: 'countries',
        referrers: 'referrers',
      },
    },
  ],
  fields: {
    address: ['link', 'link.url'],
    host: ['domain'],
    alias: ['address'],
    url: ['target'],
    title: ['description'],
    created_at: ['created_at'],
    active_period_end_at: ['expire_in'],
    disabled: ['banned'],
    clicks: ['visit_count'],
  },
  losses: { password: ['password'] },
}
