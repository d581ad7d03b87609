/** `WORKERS=n`: several processes behind one port, on one SQLite file. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { type TestContext, test as testOf } from 'node:test'
import { eventually, newDatabase, type RunningServer, run, startServer } from './processes.ts'

const workers = 3
const path = '/api/v1/spaces'

const test = (promise: string, work: (t: TestContext) => Promise<void>) => testOf(promise, { timeout: 60_000 }, work)

function startWorkers(t: TestContext): Promise<RunningServer> {
  return startServer(t, { ...newDatabase(t).variables, WORKERS: String(workers) })
}

/** The processes that have answered requests. */
function answering({ stdout }: RunningServer): number[] {
  return [...new Set([...stdout().matchAll(/"pid":(\d+),.*"msg":"request"/g)].map(([, pid]) => Number(pid)))]
}

/** Sends requests until `count` processes have answered some; returns the processes. */
async function untilAnswered(server: RunningServer, count: number): Promise<number[]> {
  await eventually(async () => {
    assert.equal((await server.send('GET', path)).status, 200)
    return answering(server).length >= count
  })
  return answering(server)
}

test('every worker answers, and one key is printed', async (t) => {
  const server = await startWorkers(t)
  await untilAnswered(server, workers)
  assert.equal(server.stdout().match(/is listening on/g)?.length, 1)
  assert.equal(server.stdout().match(/^ +wm_\w+$/gm)?.length, 1)
})

test('a worker that is killed amid writes is replaced; the others go on, and nothing acknowledged is lost', async (t) => {
  const server = await startWorkers(t)
  const [victim] = await untilAnswered(server, workers)
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
  await server.said(/a worker died and is replaced/)
  const { length } = stored
  await eventually(() => stored.length >= length + 50)
  await untilAnswered(server, workers + 1)
  isOver = true
  await Promise.all(writers)
  for (const id of stored) assert.equal((await server.send('GET', `${path}/${id}`)).status, 200)
  assert.equal((await server.end('SIGTERM')).code, 0)
})

test('SIGTERM ends all of them, with exit code 0', async (t) => {
  const server = await startWorkers(t)
  await untilAnswered(server, workers)
  const { code, stdout } = await server.end('SIGTERM')
  assert.equal(code, 0)
  assert.equal(stdout.match(/"msg":"stopped"/g)?.length, workers)
})

test('a port in use is said in one sentence, with exit code 1', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.after(() => taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as { port: number }
  const variables = { ...newDatabase(t).variables, WORKERS: String(workers), PORT: String(port) }
  const { code, stderr } = await run(t, variables).ended
  assert.equal(code, 1)
  assert.match(stderr, /^Port \d+ of 127\.0\.0\.1 is in use by another process\. [^\n]+\n$/)
})
