/**
 * Runs all tests, and prints the files that took the most CPU time. Arguments are options of `node --test`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { table } from '../src/cli/output.ts'
import { cpuTimesVariable } from '../test/cpu-times.ts'

const shown = 20
const folder = mkdtempSync(join(tmpdir(), 'waymark-test-'))
const path = join(folder, 'cpu-times')
const options = [
  '--test',
  ...['--test-global-setup=test/global-setup.ts', '--import', './test/cpu-times.ts'],
  ...['--test-concurrency=3', '--test-timeout=120000'],
  ...process.argv.slice(2),
]
const run = spawn(process.execPath, [...options, 'src/**/*.test.ts', 'test/**/*.test.ts'], {
  stdio: 'inherit',
  env: { ...process.env, [cpuTimesVariable]: path },
})
const [code] = await once(run, 'close')
if (existsSync(path)) process.stdout.write(`\n${mostExpensive(readFileSync(path, 'utf8'))}\n`)
rmSync(folder, { recursive: true })
process.exitCode = code ?? 1

/** Returns a table of the most expensive files, from a line for each process. */
function mostExpensive(lines: string): string {
  const times = lines
    .trimEnd()
    .split('\n')
    .map((line): [file: string, seconds: number] => JSON.parse(line))
    .sort(([, a], [, b]) => b - a)
  const total = times.reduce((sum, [, seconds]) => sum + seconds, 0)
  const rows = times.slice(0, shown).map(([file, seconds]) => [seconds.toFixed(1), file])
  return table([['CPU s', `file (${times.length} files took ${total.toFixed(0)} s)`], ...rows])
}
