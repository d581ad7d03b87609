import { type CompiledQuery, type OperationNodeSource, type SelectModifierNode, SqliteQueryCompiler } from 'kysely'
import { compileQuery } from '../schema.ts'

const locks: ReadonlySet<string> = new Set(['ForUpdate', 'ForNoKeyUpdate', 'ForKeyShare'])

/** Ignores row locks, because SQLite has only one writer at a time. */
class Compiler extends SqliteQueryCompiler {
  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (!locks.has(node.modifier ?? '')) super.visitSelectModifier(node)
  }
}

const compiler = new Compiler()

/** Compiles a query for SQLite. */
export function compiledForSqlite(query: OperationNodeSource): CompiledQuery {
  return compileQuery(compiler, query)
}
