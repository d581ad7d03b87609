import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { stableLifeMs } from '../src/process/workers.ts'
import { sendRequest } from './client.ts'
import {
  eventually,
  freePortRow,
  listening,
  measured,
  newDatabase,
  newFolder,
  type RunningServer,
} from './processes.ts'
import { runs } from './runs.ts'
import { run, startServer } from './waymark.ts'

const workers = 2
const path = '/api/v1/spaces'

/** Returns the processes that have responded to requests. */
function answering({ stdout }: RunningServer): number[] {
  return [...new Set([...stdout().matchAll(/"pid":(\d+),.*"msg":"request"/g)].map(([, pid]) => Number(pid)))]
}

/** Sends requests until `count` processes have responded. Returns the processes. */
async function untilAnswered(server: RunningServer, count: number): Promise<number[]> {
  await eventually(async () => {
    assert.equal((await server.send('GET', path)).status, 200)
    return answering(server).length >= count
  })
  return answering(server)
}

/** Stores spaces while `work` runs, and some before it. Returns the acknowledged ids. */
async function storeDuring(server: RunningServer, work: (acknowledged: readonly number[]) => Promise<void>) {
  const acknowledged: number[] = []
  let isOver = false
  const write = async (): Promise<void> => {
    while (!isOver) {
      const answer = await server.send('POST', path, { form: { name: 'kept', color: '1' } }).catch(() => null)
      if (answer?.status === 201) acknowledged.push(answer.body.data.id)
      // Leaves CPU time for the worker that starts.
      await wait(10)
    }
  }
  const writers = Array.from({ length: 4 }, write)
  await eventually(() => acknowledged.length >= 50)
  await work(acknowledged)
  isOver = true
  await Promise.all(writers)
  return acknowledged
}

test('exits with 0 on a signal while workers are starting', async (t) => {
  const { variables } = newDatabase(t)
  for (const afterMs of [200, 0].slice(0, runs(2, 1))) {
    const server = await startServer(t, { ...variables, WORKERS: String(workers) })
    await new Promise((resolve) => setTimeout(resolve, afterMs))
    const greeting = server.stderr()
    const { code, stdout, stderr } = await server.end('SIGTERM')
    assert.deepEqual([code, stderr], [0, greeting], `after ${afterMs} ms`)
    assert.match(stdout, /^\{.*"msg":"listening"\}\n/)
  }
})

test('loses no acknowledged write when a worker is killed, doubles the pause of a slot, and replaces the last listening worker immediately', async (t) => {
  const folder = newFolder(t)
  const [portFile, opsFile] = [join(folder, 'port'), join(folder, 'ops')]
  const firstPort = await freePortRow(workers)
  writeFileSync(portFile, '0')
  writeFileSync(opsFile, String(firstPort))
  const ports = Array.from({ length: workers }, (_, slot) => firstPort + slot)
  const ask = async (port: number, target: string) =>
    (await sendRequest({ agent: undefined, port, method: 'GET', path: target }, { key: null })).text
  const isReady = (port: number) =>
    ask(port, '/health/ready').then(
      (text) => text === '{"status":"ready"}',
      () => false,
    )
  const allReady = async () => (await Promise.all(ports.map(isReady))).every(Boolean)
  const counted = async (port: number) =>
    Number(
      /_count\{route="\/api\/v1\/spaces",method="GET",status="200"\} (\d+)$/m.exec(await ask(port, '/metrics'))?.[1],
    )

  const { path: file, variables: settings } = newDatabase(t)
  const variables = { ...measured(), ...settings, WORKERS: String(workers), PORT_FILE: portFile }
  const server = await listening(run(t, { ...variables, OPS_PORT: '', OPS_PORT_FILE: opsFile }))
  await eventually(allReady)
  const [first, other] = (await untilAnswered(server, workers)) as [number, number]
  const counts = await Promise.all(ports.map(counted))
  assert.ok(
    counts.every((count) => count >= 1),
    String(counts),
  )
  const sum = counts.reduce((total, count) => total + count, 0)
  await eventually(() => server.stdout().match(/"route":"\/api\/v1\/spaces","status":200/g)?.length === sum)

  const pauseAfterDeathOf = async (pid: number) => {
    const [line] = await server.said(new RegExp(`^.*"worker":${pid},.*$`, 'm'))
    return JSON.parse(line).pause_ms
  }
  // On a slow machine, a worker may live long enough to reset its pause.
  const mayBeReset = (startsAfter: number) => performance.now() - startsAfter >= stableLifeMs
  let startsAfter = performance.now()
  const stored = await storeDuring(server, async (acknowledged) => {
    process.kill(first, 'SIGKILL')
    assert.equal(await pauseAfterDeathOf(first), 100)
    const { length } = acknowledged
    await eventually(() => acknowledged.length >= length + 50)
  })
  const second = (await untilAnswered(server, 3)).at(-1) as number
  const nextStartsAfter = performance.now()
  process.kill(second, 'SIGKILL')
  const pause = await pauseAfterDeathOf(second)
  assert.ok(pause === 200 || (pause === 100 && mayBeReset(startsAfter)), String(pause))
  startsAfter = nextStartsAfter
  const third = (await untilAnswered(server, 4)).at(-1) as number
  for (const pid of [third, other]) process.kill(pid, 'SIGKILL')
  const pauses = [await pauseAfterDeathOf(third), await pauseAfterDeathOf(other)]
  // The last worker that died was the last that listened.
  const possible = [[0, 100], [2 * pause, 0], ...(mayBeReset(startsAfter) ? [[100, 0]] : [])]
  assert.ok(
    possible.some((each) => String(each) === String(pauses)),
    String(pauses),
  )
  await eventually(() =>
    server.send('GET', path).then(
      ({ status }) => status === 200,
      () => false,
    ),
  )
  await eventually(allReady)
  for (const id of stored) assert.equal((await server.send('GET', `${path}/${id}`)).status, 200)
  const { code, stdout, stderr } = await server.end('SIGTERM')
  assert.equal(code, 0)
  assert.equal(stderr.match(/is listening on/g)?.length, 1)
  assert.equal(stdout.match(/"msg":"listening"/g)?.length, 1)
  assert.equal(JSON.parse(stdout.split('\n')[0] ?? '').ops, `http://127.0.0.1:${firstPort}`)
  assert.equal(stderr.match(/^ +wm_\w+$/gm)?.length, 1)
  assert.equal(stdout.match(/"msg":"stopped"/g)?.length, workers)
  using database = new DatabaseSync(file)
  assert.equal(database.prepare('select base_url from instance').get()?.base_url, server.url)
})

test('replaces a worker that does not respond, but spares the workers after the supervisor was suspended for longer than they may be', {
  skip: process.platform === 'win32',
}, async (t) => {
  const server = await startServer(t, { ...newDatabase(t).variables, WORKERS: String(workers) })
  const [stopped, other] = (await untilAnswered(server, workers)) as [number, number]
  process.kill(stopped, 'SIGSTOP')
  await server.said(new RegExp(`"worker":${stopped},"msg":"worker does not respond; killing it"`))
  await server.said(new RegExp(`"worker":${stopped},"code":null,"signal":"SIGKILL"`))
  const next = (await untilAnswered(server, workers + 1)).at(-1) as number

  server.child.kill('SIGSTOP')
  await wait(12_000)
  server.child.kill('SIGCONT')
  process.kill(next, 'SIGKILL')
  await server.said(new RegExp(`"worker":${next},.*"msg":"worker died; replacing it"`))
  await untilAnswered(server, workers + 2)
  const { code, stdout } = await server.end('SIGTERM')
  assert.equal(code, 0)
  assert.equal(stdout.match(/does not respond/g)?.length, 1)
  assert.match(stdout, new RegExp(`"pid":${other},.*"msg":"stopped"`))
})
