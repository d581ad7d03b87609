import { sql } from 'kysely'
import { type AnyListing, filtered, type ListEngine, type Plan, type Sql } from '../list.ts'

/** Lists on PostgreSQL, whose planner chooses the indexes. Those of `pg_trgm` make searches fast; see `text-indexes.ts`. */
export class PostgresLists implements ListEngine {
  readonly select: ListEngine['select']

  constructor(select: ListEngine['select']) {
    this.select = select
  }

  indexHint(): Sql {
    return sql``
  }

  contains(text: Sql, term: string): Sql {
    return sql`${text} like ${patternOf(term)}`
  }

  async plan(_listing: AnyListing): Promise<Plan> {
    return { source: (each) => filtered(this, each), cost: 'scan' }
  }
}

/** Returns a pattern for `like` in which every character is literal. */
function patternOf(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`
}
