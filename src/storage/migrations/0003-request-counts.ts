/** What each process has counted of a key's or an address's requests, for the others to know. */
import { type Kysely, sql } from 'kysely'

const byEnd = 'create index request_counts_by_end on request_counts (ends_at)'

export const sqlite = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql
      .raw(`create table request_counts (
        subject text not null,
        ends_at integer not null,
        node text not null,
        requests integer not null,
        primary key (subject, ends_at, node)
      ) without rowid, strict`)
      .execute(db)
    await sql.raw(byEnd).execute(db)
  },
}

export const postgres = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql
      .raw(`create table request_counts (
        subject text collate "C" not null,
        ends_at bigint not null,
        node text collate "C" not null,
        requests bigint not null,
        primary key (subject, ends_at, node)
      )`)
      .execute(db)
    await sql.raw(byEnd).execute(db)
  },
}
