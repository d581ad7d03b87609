/**
 * Waymark's server and its commands as processes. The tests that import this file run on the source, and again on the bundle
 * that the npm package and the image contain (`npm test -- --bundle`).
 */
import type { SpawnOptions } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { withProgram } from './path.ts'
import {
  type Bench,
  type Ended,
  listening,
  type Running,
  type RunningServer,
  startProgram,
  type Variables,
} from './processes.ts'
import { repository } from './scripts.ts'

/** Names the folder with the bundle, for tests that run on it. */
export const bundleVariable = 'TEST_BUNDLE'

/** The folder of the code that the processes run. */
export const codeFolder = process.env[bundleVariable] ?? 'src'

/** The program that `npm start` and the command `waymark` run. */
export const launcher = join(repository, 'bin/waymark.js')

const [, nodeOptions = ''] = /^const nodeOptions = \[(.*)\]$/m.exec(readFileSync(launcher, 'utf8')) ?? []

const inCode = (file: string) => join(repository, codeFolder, file)
const options = [...nodeOptions.replaceAll("'", '').split(', '), '--import', inCode('process/compile-cache.js')]

/** Arguments to Node for the server, without the launcher. `src/cli/bin.test.ts` compares them. */
export const serverArguments = [...options, inCode('main.js')]

/** Arguments to Node for the command line, without the launcher. */
export const commandArguments = [...options, inCode('cli.js')]

/** Starts the server as `npm start` does, without npm. `nodeOptions` are additional arguments for Node. */
export function run(
  t: Bench,
  variables: Variables,
  options: SpawnOptions = {},
  nodeOptions: readonly string[] = [],
): Running {
  return startProgram(t, [process.execPath, ...nodeOptions, ...serverArguments], variables, options)
}

/** Runs one command line to its end. */
export function waymark(t: Bench, args: readonly string[], variables: Variables): Promise<Ended> {
  return startProgram(t, [process.execPath, ...commandArguments, ...args], variables).ended
}

/** Starts a server on a free port. */
export function startServer(t: Bench, variables: Variables): Promise<RunningServer> {
  return listening(run(t, { PORT: '0', ...variables }))
}

/**
 * Returns `path` with an `npx waymark` and an `npm run -s waymark --` that start without npm and the launcher.
 * `src/cli/bin.test.ts` and `run.test.ts` test the real ones.
 */
export function withFastNpm(t: Bench, path: string): string {
  const command = [process.execPath, ...commandArguments].map((word) => `'${word}'`).join(' ')
  const withNpx = withProgram(t, path, 'npx', `shift; exec ${command} "$@"`)
  return withProgram(t, withNpx, 'npm', `shift 4; exec ${command} "$@"`)
}
