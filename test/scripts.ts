/** The programs that the tests start, with arguments to Node that work in any folder. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const repository = fileURLToPath(new URL('..', import.meta.url))

/** The type checker. The package `typescript` is an older version, because openapi-typescript needs its API. */
export const typeChecker = join(repository, 'node_modules/@typescript/native/bin/tsc')

/** The program that `npm start` and the command `waymark` run. */
export const launcher = join(repository, 'bin/waymark.js')

const compileCache = ['--import', join(repository, 'src/process/compile-cache.js')]
const [, nodeOptions = ''] = /^const nodeOptions = \[(.*)\]$/m.exec(readFileSync(launcher, 'utf8')) ?? []

const options = nodeOptions.replaceAll("'", '').split(', ')

/** The server, without the launcher. `src/cli/bin.test.ts` compares them. */
export const serverArguments = [...options, ...compileCache, join(repository, 'src/main.js')]

/** The command line, without the launcher. */
export const commandArguments = [...options, ...compileCache, join(repository, 'src/cli.js')]
