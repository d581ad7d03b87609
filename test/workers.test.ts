import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
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
  run,
  startServer,
} from './processes.ts'

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

test('exits with 0 on a signal while workers are starting', async (t) => {
  const { variables } = newDatabase(t)
  for (const afterMs of [0, 200]) {
    const server = await startServer(t, { ...variables, WORKERS: String(workers) })
    await new Promise((resolve) => setTimeout(resolve, afterMs))
    const greeting = server.stderr()
    const { code, stderr } = await server.end('SIGTERM')
    assert.deepEqual([code, stderr], [0, greeting], `after ${afterMs} ms`)
  }
})

test('replaces a killed worker, which has the same OPS_PORT, and loses no acknowledged write', async (t) => {
  const folder = newFolder(t)
  const [portFile, opsFile] = [join(folder, 'port'), join(folder, 'ops')]
  const first = await freePortRow(workers)
  writeFileSync(portFile, '0')
  writeFileSync(opsFile, String(first))
  const ports = Array.from({ length: workers }, (_, slot) => first + slot)
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

  const variables = { ...measured(), ...newDatabase(t).variables, WORKERS: String(workers), PORT_FILE: portFile }
  const server = await listening(run(t, { ...variables, OPS_PORT: '', OPS_PORT_FILE: opsFile }))
  await eventually(allReady)
  const [victim] = await untilAnswered(server, workers)
  const counts = await Promise.all(ports.map(counted))
  assert.ok(
    counts.every((count) => count >= 1),
    String(counts),
  )
  const sum = counts.reduce((total, count) => total + count, 0)
  await eventually(() => server.stdout().match(/"route":"\/api\/v1\/spaces","status":200/g)?.length === sum)

  const stored: number[] = []
  let isOver = false
  const write = async (): Promise<void> => {
    while (!isOver) {
      const form = { name: 'kept', color: '1' }
      const answer = await server.send('POST', path, { form }).catch(() => null)
      if (answer?.status === 201) stored.push(answer.body.data.id)
    }
  }
  const writers = [write(), write(), write(), write()]
  await eventually(() => stored.length >= 50)
  process.kill(victim as number, 'SIGKILL')
  await server.said(/worker died; replacing it/)
  const { length } = stored
  await eventually(() => stored.length >= length + 50)
  await untilAnswered(server, workers + 1)
  await eventually(allReady)
  isOver = true
  await Promise.all(writers)
  for (const id of stored) assert.equal((await server.send('GET', `${path}/${id}`)).status, 200)
  const { code, stdout, stderr } = await server.end('SIGTERM')
  assert.equal(code, 0)
  assert.equal(stderr.match(/is listening on/g)?.length, 1)
  assert.equal(stderr.match(/^ +wm_\w+$/gm)?.length, 1)
  assert.equal(stdout.match(/"msg":"stopped"/g)?.length, workers)
})

test('doubles the pause of a slot, and replaces the last listening worker immediately', async (t) => {
  const server = await startServer(t, { ...measured(), ...newDatabase(t).variables, WORKERS: String(workers) })
  const [first, other] = (await untilAnswered(server, 2)) as [number, number]
  const pauseAfterDeathOf = async (pid: number) => {
    const [line] = await server.said(new RegExp(`^.*"worker":${pid},.*$`, 'm'))
    return JSON.parse(line).pause_ms
  }
  process.kill(first, 'SIGKILL')
  assert.equal(await pauseAfterDeathOf(first), 100)
  const second = (await untilAnswered(server, 3)).at(-1) as number
  const startsAfter = performance.now()
  process.kill(second, 'SIGKILL')
  assert.equal(await pauseAfterDeathOf(second), 200)
  const third = (await untilAnswered(server, 4)).at(-1) as number
  process.kill(other, 'SIGKILL')
  assert.equal(await pauseAfterDeathOf(other), 100)
  const fourth = (await untilAnswered(server, 5)).at(-1) as number

  for (const pid of [third, fourth]) process.kill(pid, 'SIGKILL')
  const pauses = [await pauseAfterDeathOf(third), await pauseAfterDeathOf(fourth)]
  assert.equal(Math.min(...pauses), 0, String(pauses))
  // On a slow machine, a worker may live long enough to reset its pause.
  const isSound = performance.now() - startsAfter >= stableLifeMs
  assert.ok(Math.max(...pauses) >= (isSound ? 100 : 200), String(pauses))
  await eventually(() =>
    server.send('GET', path).then(
      ({ status }) => status === 200,
      () => false,
    ),
  )
  await untilAnswered(server, 7)
  assert.equal((await server.end('SIGTERM')).code, 0)
})
