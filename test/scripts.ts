/** The repository, and tools in it that the tests start. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const repository = fileURLToPath(new URL('..', import.meta.url))

/** The type checker. The package `typescript` is an older version, because openapi-typescript needs its API. */
export const typeChecker = join(repository, 'node_modules/@typescript/native/bin/tsc')
