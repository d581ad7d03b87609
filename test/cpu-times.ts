/** Preloaded into each process of `npm test`: records the CPU time of its test file when it exits. */
import { appendFileSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { repository } from './scripts.ts'

/** Names the file for the times: a JSON array of path and seconds in each line. */
export const cpuTimesVariable = 'TEST_CPU_TIMES'

const file = process.argv[1] ?? ''
const path = process.env[cpuTimesVariable]
if (path !== undefined && isMainThread && file.endsWith('.test.ts')) {
  process.on('exit', () => appendFileSync(path, `${JSON.stringify([relative(repository, file), cpuSeconds()])}\n`))
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
