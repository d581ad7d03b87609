import { isDeepStrictEqual } from 'node:util'
import { type CompiledQuery, createQueryId, type OperationNodeSource, type QueryCompiler } from 'kysely'
import { LruCache } from '../lib/lru-cache.ts'
import { CachedQuery } from './schema.ts'

/** The most shapes that an engine remembers. */
const maxCached = 500

/** Returns the function that compiles the queries of an engine. */
export function createCompiler(compiler: QueryCompiler): (query: OperationNodeSource) => CompiledQuery {
  const cached = new LruCache<string, CompiledQuery>(maxCached)
  return (query) => {
    if (!(query instanceof CachedQuery)) return compileWith(compiler, query)
    const { shape, parameters } = query
    const known = cached.get(shape)
    if (known !== undefined) return { ...known, parameters }
    const compiled = compileWith(compiler, query)
    if (!isDeepStrictEqual(compiled.parameters, parameters)) {
      throw new Error(`The parameters of the query "${shape}" are in another order than in its text.`)
    }
    cached.set(shape, compiled)
    return compiled
  }
}

function compileWith(compiler: QueryCompiler, query: OperationNodeSource): CompiledQuery {
  return compiler.compileQuery(query.toOperationNode() as CompiledQuery['query'], createQueryId())
}
