/** No request within the size limits blocks the event loop. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { maxBody, parseJson } from '../../src/api/body.ts'
import { storeDomain } from '../../src/domains/schema.ts'
import { parseForm } from '../../src/http/form-encoding.ts'
import { storeSpace } from '../../src/spaces/schema.ts'
import { startApp } from '../app.ts'
import { runs } from '../runs.ts'

/** The maximum CPU time of an event-loop tick. Milliseconds. */
const maxMs = 20

/** Fills the rest of a body with a repeated piece. */
const filled = (head: string, piece: string, tail: string) =>
  head + piece.repeat(Math.max(0, Math.floor((maxBody - 1_024 - head.length - tail.length) / piece.length))) + tail

const nested = (open: string, close: string) => {
  const depth = Math.floor((maxBody - 2_048) / (open.length + close.length))
  return open.repeat(depth) + close.repeat(depth)
}

const text = fc.constantFrom(...'aé💩\u0345%.-:@/\u202e', 'e\u0301', '\\"', '\\\\', 'xn--')
const name = fc.constantFrom('name', 'id', 'homepage_url', 'color', 'name_unicode', 'nmae', '__proto__', 'x[]')

const json = fc.oneof(
  fc.tuple(name, text).map(([field, piece]) => filled(`{"${field}":"`, piece, '"}')),
  name.map((field) => filled(`{"name":"amp"`, `,"${field}":0`, '}')),
  fc
    .tuple(name, fc.integer({ min: 1, max: 95 }))
    .map(([field, times]) => `{"name":"amp"${`,"${field}":0`.repeat(times)},"${field}":${nested('[', ']')}}`),
  name.map((field) => `{"${field}":${nested('{"a":', '}').replace('{"a":}', '{"a":1}')}}`),
  name.map((field) => filled(`{"${field}":[`, '"",', '""]}')),
)

const form = fc.oneof(
  fc.tuple(name, text).map(([field, piece]) => filled(`${field}=`, encodeURIComponent(piece), '')),
  name.map((field) => filled(`name=a`, `&${field}=0`, '')),
  fc
    .integer({ min: 1, max: 100 })
    .map((count) => Array.from({ length: count }, (_, n) => `${'y'.repeat(600)}${n}=`).join('&')),
)

/** Returns the CPU time of the longest event-loop tick of the work. Milliseconds. */
async function longestTick(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let isOver = false
  let start = process.threadCpuUsage()
  const endTick = () => {
    const { user, system } = process.threadCpuUsage(start)
    longest = Math.max(longest, (user + system) / 1_000)
    start = process.threadCpuUsage()
    if (!isOver) setImmediate(endTick)
  }
  setImmediate(endTick)
  await work()
  isOver = true
  endTick()
  return longest
}

/** Returns the lowest result of a few runs, because garbage collection can add to some. Milliseconds. */
async function costOf(work: () => Promise<unknown>): Promise<number> {
  let lowest = Number.POSITIVE_INFINITY
  for (let run = 0; run < 3; run++) lowest = Math.min(lowest, await longestTick(work))
  return lowest
}

test('reads and checks a body of any shape without an event-loop tick of 20 ms', async () => {
  const bodies = fc.oneof(
    json.map((body) => [body, true] as const),
    form.map((body) => [body, false] as const),
  )
  await fc.assert(
    fc.asyncProperty(bodies, async ([body, isJson]) => {
      const bytes = Buffer.from(body.toWellFormed())
      fc.pre(bytes.length <= maxBody)
      const cost = await costOf(async () => {
        const fields = isJson ? await parseJson(bytes) : parseForm(bytes)
        if ('message' in fields && !(fields instanceof Object && Object.getPrototypeOf(fields) === null)) return
        for (const each of [storeDomain, storeSpace]) each.check(fields as Readonly<Record<string, unknown>>)
      })
      assert.ok(cost < maxMs, `${cost} ms for ${body.slice(0, 60)}…`)
    }),
    { numRuns: runs(150, 50) },
  )
})

test('422 for a repeated member, even an ignored one, before its value is used', async () => {
  const app = await startApp()
  const body = `{"name":"amp","id":0${',"id":0'.repeat(90)},"id":${nested('[', ']')}}`
  const headers = { 'content-type': 'application/json', 'idempotency-key': 'amp' }
  const answer = await app.send('POST', '/api/v1/spaces', { body, headers })
  assert.equal(answer.status, 422)
  const message = 'The id field must be sent once, as a single value.'
  assert.deepEqual(answer.body.violations, [{ field: 'id', code: 'not_single', message }])
})
