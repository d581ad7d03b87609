/** Runs several test files in this process, one after another. Each process of `npm test` does so. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { holdChromium } from './chromium.ts'
import { repository } from './scripts.ts'

/** Names the file for the times: a JSON array of a test file's path, its CPU seconds and its seconds in each line. */
export const timesVariable = 'TEST_TIMES'

/** How long a process may run after its last test. Milliseconds. */
const maxEndMs = 10_000

/** CPU seconds of this process that were recorded for a file. */
let recorded = 0

/** Returns one file after another that no other process of this run has taken. `folder` is the run's folder. */
export function* takeFrom(files: readonly string[], folder: string): Generator<string> {
  for (const file of files) {
    const mark = join(folder, `${encodeURIComponent(file)}.taken`)
    try {
      writeFileSync(mark, '', { flag: 'wx' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      continue
    }
    yield file
  }
}

/** Runs test files as all that this process does, and ends the process some time after the last test. */
export async function runGroup(files: Iterable<string>): Promise<void> {
  const releaseChromium = holdChromium()
  await runFiles(files)
  await releaseChromium()
  // A failed test may leave connections open, which would keep this process running.
  const exit = () => {
    process.stderr.write(`The tests left open: ${process.getActiveResourcesInfo().join(', ')}.\n`)
    process.exit()
  }
  setTimeout(exit, maxEndMs).unref()
}

/**
 * Runs test files with paths relative to the repository. Each file is one test, so that its hooks run when it ends.
 * `suffix` is added to their names.
 */
export async function runFiles(files: Iterable<string>, suffix = ''): Promise<void> {
  // Keeps the process running while a test waits for one of Waymark's unreferenced timers.
  const keepAlive = setInterval(() => undefined, 60_000)
  let running: string | undefined
  process.on('exit', () => {
    if (running === undefined) return
    process.stderr.write(`The process ended while it ran ${running}.\n`)
    process.exitCode = 1
  })
  for (const file of files) {
    const name = file + suffix
    running = name
    const [start, cpuStart] = [performance.now(), cpuSeconds() - recorded]
    // Without this, --test-timeout would apply to the whole file, not only to each test in it.
    await test(name, { timeout: Infinity }, async () => {
      await import(join(repository, file))
    })
    const path = process.env[timesVariable]
    // Without the files that this file ran.
    const cpu = cpuSeconds() - recorded - cpuStart
    recorded += cpu
    const times = [name, cpu, (performance.now() - start) / 1_000]
    if (path !== undefined) appendFileSync(path, `${JSON.stringify(times)}\n`)
  }
  running = undefined
  clearInterval(keepAlive)
}

/** Returns the CPU time of this process and, on Linux, of the processes that it started and that have ended. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6 + childSeconds()
}

function childSeconds(): number {
  try {
    // The name of the program, in parentheses, may contain spaces. Times are in hundredths of a second.
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return (Number(fields[13]) + Number(fields[14])) / 100
  } catch {
    return 0
  }
}
