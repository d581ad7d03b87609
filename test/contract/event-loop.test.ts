/** No request within the size limits blocks the event loop for long. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { maxBody, parseJson } from '../../src/api/body.ts'
import { storeDomain } from '../../src/domains/schema.ts'
import { parseForm } from '../../src/http/form-encoding.ts'
import { storeSpace } from '../../src/spaces/schema.ts'
import { startApp } from '../app.ts'
import { runs } from '../runs.ts'

/**
 * The maximum CPU time for a body. Milliseconds. All bodies take less than 20 ms on an idle machine, and quadratic work would
 * take seconds.
 */
const maxMs = 200

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

/** Returns the lowest CPU time of a few runs, because garbage collection can add to some. Milliseconds. */
async function costOf(work: () => unknown): Promise<number> {
  let lowest = Number.POSITIVE_INFINITY
  for (let run = 0; run < 3; run++) {
    const start = process.threadCpuUsage()
    await work()
    const { user, system } = process.threadCpuUsage(start)
    lowest = Math.min(lowest, (user + system) / 1_000)
  }
  return lowest
}

test('reads and checks a body of any shape in less than 200 ms of CPU time', async () => {
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
