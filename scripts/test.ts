/**
 * Runs all tests, and prints the files that took the most CPU time. Arguments are options of `node --test`, and test
 * files to run instead of all. `--random` selects the random and crash tests, which `FULL=1` makes longer (`test/runs.ts`).
 * `--bundle` selects the tests that start Waymark (`test/waymark.ts`), and runs them on the bundle instead of the source.
 *
 * A few processes take one file after another from the same list, because a process for each file would spend more time
 * on loading than on testing. A file whose name ends in `.isolated.test.ts` has its own process. Files that end in
 * `.browser.test.ts` share one browser.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { table } from '../src/cli/output.ts'
import { timesVariable } from '../test/files.ts'
import { isFull } from '../test/runs.ts'
import { repository } from '../test/scripts.ts'
import { bundleVariable } from '../test/waymark.ts'
import { buildBundle } from './bundle.ts'

/** More than cores, because many tests wait for another process or a timer. */
const concurrency = 5
const shown = 20
/** Three times as much as the tests use at once. */
const minFreeBytes = 2_000_000_000

/** The folder of the bundle that is tested, in the repository. */
const bundle = 'bundle'

const isRandom = process.argv.includes('--random')
const isOnBundle = process.argv.includes('--bundle')
const given = process.argv.slice(2).filter((argument) => !['--random', '--bundle'].includes(argument))
const givenFiles = given.filter((argument) => /^[^-].*\.test\.ts$/.test(argument))
const options = given.filter((argument) => !givenFiles.includes(argument))
// These options would leave out the tests around the files, and with them all that is in the files.
const selectsTests = options.some((option) => /^--test-(only|name-pattern|skip-pattern)\b/.test(option))

const folder = mkdtempSync(join(memoryFolder() ?? tmpdir(), 'waymark-test-'))
// PostgreSQL and some tests run as another user.
chmodSync(folder, 0o755)
const timesPath = join(folder, 'times')
const all = globSync(['src/**/*.test.ts', 'test/**/*.test.ts', 'tools/**/*.test.ts'], { cwd: repository })
  .filter((file) => !isRandom || readFileSync(join(repository, file), 'utf8').includes("/runs.ts'"))
  .filter((file) => !isOnBundle || imports(join(repository, file), join(repository, 'test/waymark.ts')))
  .sort()
const files = givenFiles.length > 0 ? givenFiles : selectsTests ? all : modulesOf(all)
// A file that runs without the others starts PostgreSQL only if it needs it.
const setup = givenFiles.length > 0 ? [] : ['--test-global-setup=test/global-setup.ts']
// Ends tests that hang, and names them. A busy machine slows tests down twentyfold, and FULL=1 makes them longer. Minutes.
const limit = isFull ? 45 : 10
const timeout = [`--test-timeout=${limit * 60_000}`]
// Coverage is less precise with cached code.
const cache = options.includes('--experimental-test-coverage')
  ? { NODE_DISABLE_COMPILE_CACHE: '1' }
  : { NODE_COMPILE_CACHE: join(repository, 'node_modules/.cache/waymark') }
if (isOnBundle) await buildBundle(bundle)
const tested = isOnBundle ? { [bundleVariable]: bundle } : {}
const run = spawn(
  process.execPath,
  ['--test', ...setup, `--test-concurrency=${concurrency}`, ...timeout, ...options, ...files],
  { stdio: 'inherit', env: { ...process.env, ...cache, ...tested, TMPDIR: folder, [timesVariable]: timesPath } },
)
const [code] = await once(run, 'close')
if (existsSync(timesPath)) process.stdout.write(`\n${mostExpensive(readFileSync(timesPath, 'utf8'))}\n`)
rmSync(folder, { recursive: true })
if (isOnBundle) rmSync(join(repository, bundle), { recursive: true })
process.exitCode = code ?? 1

/**
 * Returns a folder in memory for the files of tests. Flushing databases to a disk takes a fifth of the system's CPU time. Returns
 * undefined if there is no such folder with enough space for all files, where programs can run.
 */
function memoryFolder(): string | undefined {
  const path = '/dev/shm'
  if (!existsSync(path) || !existsSync('/proc/mounts')) return undefined
  if (!/^\S+ \/dev\/shm tmpfs (?!\S*\bnoexec\b)/m.test(readFileSync('/proc/mounts', 'utf8'))) return undefined
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize > minFreeBytes ? path : undefined
}

/** Returns whether a file of tests imports `target`, itself or through other files of test/. */
function imports(file: string, target: string): boolean {
  const specifiers = readFileSync(file, 'utf8').matchAll(/ from '(\.[^']+)'/g)
  const paths = Array.from(specifiers, ([, path = '']) => join(dirname(file), path))
  const shared = paths.filter((path) => path.startsWith(join(repository, 'test/')))
  return shared.some((path) => path === target || imports(path, target))
}

/** Writes the modules that run the files, one for each process, and returns their paths. */
function modulesOf(names: readonly string[]): string[] {
  const isolated = names.filter((name) => name.endsWith('.isolated.test.ts'))
  const withBrowser = names.filter((name) => name.endsWith('.browser.test.ts'))
  // In reverse order, so that the run starts with tools/ and test/, which have the longest files.
  const others = names.filter((name) => !isolated.includes(name) && !withBrowser.includes(name)).reverse()
  const lists = [withBrowser, ...isolated.map((name) => [name]), ...Array(concurrency).fill(others)]
  return lists.map(writeModule)
}

/** Writes a module that runs each file unless another process has taken it. Returns its path. */
function writeModule(names: readonly string[], index: number): string {
  const path = join(folder, `${String(index).padStart(2, '0')}.test.mjs`)
  const runner = JSON.stringify(join(repository, 'test/files.ts'))
  const files = `takeFrom(${JSON.stringify(names, null, 2)}, ${JSON.stringify(folder)})`
  writeFileSync(path, `import { runGroup, takeFrom } from ${runner}\nawait runGroup(${files})\n`)
  return path
}

/** Returns a table of the most expensive files, from a line for each file. */
function mostExpensive(lines: string): string {
  const times = lines
    .trimEnd()
    .split('\n')
    .map((line): [file: string, cpuSeconds: number, seconds: number] => JSON.parse(line))
    .sort(([, a], [, b]) => b - a)
  const total = times.reduce((sum, [, cpuSeconds]) => sum + cpuSeconds, 0)
  const rows = times
    .slice(0, shown)
    .map(([file, cpuSeconds, seconds]) => [cpuSeconds.toFixed(1), seconds.toFixed(1), file])
  return table([['CPU s', 's', `file (${times.length} files took ${total.toFixed(0)} s of CPU time)`], ...rows])
}
