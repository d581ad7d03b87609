/** What each process has counted of a key's or an address's requests, for the others to know. */
import { type Kysely, sql } from 'kysely'

const table = (integer: string, options: string) => `create table request_counts (
  subject text not null,
  ends_at ${integer} not null,
  node text not null,
  requests integer not null,
  primary key (subject, ends_at, node)
)${options}`

export const sqlite = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw(table('integer', ' without rowid, strict')).execute(db)
  },
}
