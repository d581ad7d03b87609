import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { clicksOf, SinkInMemory } from '../../../test/click-rows.ts'
import { startClickHouse } from '../../../test/clickhouse.ts'
import { eventually, freePort, measured, newFolder, type Running, startProgram } from '../../../test/processes.ts'
import { runs } from '../../../test/runs.ts'
import { repository } from '../../../test/scripts.ts'
import { ClickSink, openSink, type SinkTarget } from './open.ts'
import { SpoolUnusable } from './sink.ts'
import { Spool } from './spool.ts'
import { openSpoolFolder } from './spool-folder.ts'

const script = join(repository, 'test/spooling.ts')
const numbers = (first: number, last: number) => clicksOf(first, last).map(({ link_id }) => link_id)

/** What processes on one spool wrote to a file; as text and as lines. */
const linesOf = (file: string) => readFileSync(file, 'utf8').split('\n').slice(0, -1)
const linksIn = (file: string) => linesOf(file).map((line) => JSON.parse(line).link_id as number)

/** Lets a process spool clicks, kills it once `isTime`, and returns the last click that it said it had kept. */
async function killWhen(
  t: TestContext,
  args: readonly string[],
  isTime: (running: Running) => unknown,
): Promise<number> {
  const running = startProgram(t, [process.execPath, script, ...args], measured())
  await isTime(running)
  running.child.kill('SIGKILL')
  const { stdout } = await running.ended
  return Number([...stdout.matchAll(/^kept (\d+)$/gm)].at(-1)?.[1])
}

const hasKept = (click: number) => (running: Running) => running.said(new RegExp(`^kept ${click}$`, 'm'))

/** Resolves when the file grows: its sync to the disk, and the end of its batch, are still to come. */
const grows = (file: string) => async () => {
  const size = () => statSync(file, { throwIfNoEntry: false })?.size ?? 0
  for (const before = size(); size() === before; ) await turn()
}

test('loses and repeats no click if it is killed several times', async (t) => {
  const [spool, file] = [newFolder(t), join(newFolder(t), 'clicks.jsonl')]
  const said: number[] = []
  const moments = [hasKept(50), grows(file), hasKept(2e6 + 500), grows(file), grows(file)].slice(0, runs(5, 3))
  for (const [round, isTime] of moments.entries()) {
    said.push(await killWhen(t, [spool, `jsonl:${file}`, String(round * 1e6)], isTime))
  }
  await openSink({ target: { kind: 'jsonl', path: file }, spool, spoolBytes: 1e9 }, assert.ifError)?.close()
  const links = linksIn(file)
  for (const [round, last] of said.entries()) {
    const own = links.filter((link) => Math.floor(link / 1e6) === round)
    assert.deepEqual(own, numbers(round * 1e6, own.at(-1) ?? 0), `${round}`)
    assert.ok((own.at(-1) ?? 0) >= last, `${round}`)
  }
  assert.deepEqual(
    links,
    links.toSorted((a, b) => a - b),
  )
})

test('sends a killed process’s clicks to ClickHouse after the next start', async (t) => {
  const spool = newFolder(t)
  const last = await killWhen(t, [spool, `clickhouse://127.0.0.1:${await freePort()}`, '1'], hasKept(500))
  const server = await startClickHouse(t)
  const target: SinkTarget = { kind: 'clickhouse', ...server.table }
  const opened = openSink({ target, spool, spoolBytes: 1e9 }, assert.ifError)
  await eventually(() => server.rows.length >= last)
  await opened?.close()
  const links = server.rows.map(({ link_id }) => link_id)
  assert.deepEqual(links, numbers(1, links.length))
})

test('writes a separate file for each process', async (t) => {
  const [spool, file] = [newFolder(t), join(newFolder(t), 'clicks.jsonl')]
  const config = { target: { kind: 'jsonl', path: file }, spool, spoolBytes: 1e9 } as const
  const [one, two] = [openSink(config, assert.ifError), openSink(config, assert.ifError)]
  one?.put(clicksOf(1, 1))
  two?.put(clicksOf(2, 2))
  await one?.close()
  await two?.close()
  assert.deepEqual(linksIn(file), [1])
  assert.deepEqual(linksIn(file.replace('.jsonl', '.1.jsonl')), [2])
})

for (const [what, block] of [
  ['a path below a file', (root: string) => root],
  ['a folder with a file in place of its first subfolder', (root: string) => join(root, '0')],
] as const) {
  test(`reports ${what} once, and drops and counts clicks until the spool can be opened`, async (t) => {
    const root = join(newFolder(t), 'spool')
    const [sink, problems] = [new SinkInMemory(), [] as unknown[]]
    const onProblem = (error: unknown) => problems.push(error)
    const file = block(root)
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(file, '')
    const open = () => new Spool(openSpoolFolder(root), sink, { maxBytes: 1e9, onProblem })
    const clicks = new ClickSink(open, onProblem)
    clicks.put(clicksOf(1, 2))
    clicks.put(clicksOf(3, 3))
    assert.deepEqual(clicks.measured, [0, 0, 0, 3])
    assert.equal(problems.length, 1)
    assert.ok(problems[0] instanceof SpoolUnusable)
    rmSync(file)
    clicks.put(clicksOf(4, 5))
    await eventually(() => sink.links.length === 2)
    await clicks.close()
    assert.deepEqual(sink.links, [4, 5])
    assert.deepEqual(clicks.measured, [2, 0, 0, 3])
    assert.equal(problems.length, 1)
    const next = openSpoolFolder(root)
    assert.equal(next.number, 0)
    next.close()
  })
}

test('closes without a usable spool', async (t) => {
  const file = join(newFolder(t), 'file')
  writeFileSync(file, '')
  const open = () => new Spool(openSpoolFolder(join(file, 'spool')), new SinkInMemory(), { maxBytes: 1e9, onProblem })
  const onProblem = (error: unknown) => assert.match(String(error), /ENOTDIR/)
  await new ClickSink(open, onProblem).close()
})
