/** Idempotency-Key over SIGKILL and a restart. `two-nodes.test.ts` sends one key to two processes. */
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import {
  isReplayed,
  postOnce,
  type Resource,
  resources,
  settled,
  type Wanted,
  wantedBy,
} from './idempotent-requests.ts'
import { newDatabase, type RunningServer, startServer } from './processes.ts'
import { runs } from './runs.ts'

const quiet = { RATE_LIMIT: '0', LOG_LEVEL: 'warn' }

const rounds = runs(10, 2)
const writers = 12
const maxWrites = 200

test('has a record for each stored response and a response for each record after SIGKILL, and blocks no key', async (t) => {
  const { path, variables } = newDatabase(t)
  const start = () => startServer(t, { ...variables, ...quiet })
  const all: Wanted[] = []
  let server = await start()
  const { key } = server
  let found = 0
  for (let round = 0; round < rounds; round++) {
    const { acknowledged, pending } = await postUntilKilled(server, key, `k${round}`)
    all.push(...acknowledged.keys(), ...pending)
    checkWhole(path)
    server = await start()
    const agent = new Agent({ keepAlive: true, maxSockets: writers })
    for (const wanted of pending) {
      const { answer } = await settled(() => postOnce(server, agent, key, wanted))
      assert.equal(answer.body.data.name, wanted.name)
      if (isReplayed(answer)) found += 1
    }
    for (const [wanted, text] of [...acknowledged].slice(-40)) {
      const { answer } = await settled(() => postOnce(server, agent, key, wanted))
      assert.equal(isReplayed(answer), true)
      assert.equal(answer.text, text)
    }
    agent.destroy()
    const { domains, spaces, responses } = contentsOf(path)
    assert.deepEqual([domains + spaces, responses], [all.length, all.length])
  }
  t.diagnostic(`${all.length} requests in ${rounds} rounds; ${found} had been carried out without an answer`)
})

/** Sends requests with different keys until the server is killed, at a random moment. */
async function postUntilKilled(server: RunningServer, key: string, mark: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: writers })
  const acknowledged = new Map<Wanted, string>()
  const pending: Wanted[] = []
  const killAt = 10 + Math.floor(Math.random() * maxWrites)
  const write = async (writer: number): Promise<void> => {
    for (let turn = 0; ; turn++) {
      const wanted = wantedBy(`${mark}-w${writer}-t${turn}`, resources[turn % 2] as Resource)
      const done = await settled(() => postOnce(server, agent, key, wanted)).catch(whenCut)
      if (done === undefined) return void pending.push(wanted)
      acknowledged.set(wanted, done.answer.text)
      if (acknowledged.size === killAt) server.child.kill('SIGKILL')
    }
  }
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)))
  agent.destroy()
  assert.equal((await server.ended).signal, 'SIGKILL')
  return { acknowledged, pending }
}

function whenCut(error: Error & { code?: string }): undefined {
  if (error.code !== 'ECONNRESET' && error.code !== 'ECONNREFUSED' && error.code !== 'EPIPE') throw error
}

/** Counts the rows in the file. */
function contentsOf(path: string): Record<Resource | 'responses', number> {
  const file = new DatabaseSync(path, { readOnly: true })
  try {
    const count = (table: string) => Number(file.prepare(`select count(*) as n from ${table}`).get()?.n)
    return { domains: count('domains'), spaces: count('spaces'), responses: count('stored_responses') }
  } finally {
    file.close()
  }
}

/** Throws unless each record has a stored response, and each stored response a record. */
function checkWhole(path: string): void {
  const file = new DatabaseSync(path)
  try {
    const records = resources.flatMap((resource) =>
      file.prepare(`select id, name, '${resource}' as kind from ${resource}`).all(),
    )
    const answers = file
      .prepare(
        `select body ->> '$.data.id' as id, body ->> '$.data.name' as name, status,
          case when location like '%/domains/%' then 'domains' else 'spaces' end as kind from stored_responses`,
      )
      .all()
    const written = (row: Record<string, unknown>) => `${row.kind} ${row.id} ${row.name}`
    assert.deepEqual(answers.map(written).sort(), records.map(written).sort())
    assert.ok(answers.every(({ status }) => status === 201))
    assert.equal(file.prepare('pragma integrity_check').get()?.integrity_check, 'ok')
  } finally {
    file.close()
  }
}
