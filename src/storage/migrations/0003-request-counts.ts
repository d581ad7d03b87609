/** What each process has counted of a key's or an address's requests, for the others to know. */

const byEnd = 'create index request_counts_by_end on request_counts (ends_at)'

export const sqlite = [
  `create table request_counts (
        subject text not null,
        ends_at integer not null,
        node text not null,
        requests integer not null,
        primary key (subject, ends_at, node)
      ) without rowid, strict`,
  byEnd,
]

export const postgres = [
  `create table request_counts (
        subject text collate "C" not null,
        ends_at bigint not null,
        node text collate "C" not null,
        requests bigint not null,
        primary key (subject, ends_at, node)
      )`,
  byEnd,
]
