import {
  CompiledQuery,
  type DatabaseConnection,
  type DatabaseMetadataOptions,
  type Dialect,
  type Kysely,
  PostgresAdapter,
  type PostgresDialectConfig,
  PostgresDriver,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
  type TableMetadata,
} from 'kysely'

/** Among the advisory locks of a database, Waymark's own. */
const migrationLock = 0x7761_796d_726b

/** Kysely on connections of their own, for migrations alone: everything else compiles its statements once. */
export function migrationDialect(config: PostgresDialectConfig): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new LockingDriver(config),
    createIntrospector: (db) => new OwnIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
}

/** Of processes that migrate at once, one does; the others wait for it and find that it is done. */
class LockingDriver extends PostgresDriver {
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin'))
    await connection.executeQuery(CompiledQuery.raw(`select pg_advisory_xact_lock(${migrationLock})`))
  }
}

/** Sees the tables of the schema in which ours are, for other programs may keep theirs in the same database. */
class OwnIntrospector extends PostgresIntrospector {
  readonly #db: Kysely<unknown>

  constructor(db: Kysely<unknown>) {
    super(db)
    this.#db = db
  }

  override async getTables(options?: DatabaseMetadataOptions): Promise<TableMetadata[]> {
    const { rows } = await sql<{ own: string }>`select current_schema() as own`.execute(this.#db)
    const tables = await super.getTables(options)
    return tables.filter(({ schema }) => schema === rows[0]?.own)
  }
}
