import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStorage } from '../src/storage/open.ts'
import { keptDays, keptTotals, sumsOf } from './clicks.ts'
import { newLocation } from './engine.ts'
import { newDomain, newLink } from './links.ts'
import { freePort, listening, run } from './processes.ts'
import { runs } from './runs.ts'
import { person } from './visitors.ts'

const many = runs(100_000, 3_000)
const links = 50
const queue = new URL('../src/analytics/click-queue.ts', import.meta.url)

/**
 * At SIGUSR2, counts all clicks and sends SIGTERM in one event-loop tick, so that all clicks are pending. The server would
 * write some of them between real visits.
 */
const clicksThenStop = `
  import { ClickQueue } from '${queue}'
  const { start } = ClickQueue.prototype
  ClickQueue.prototype.start = function () {
    process.once('SIGUSR2', () => {
      const sent = { host: 'go.acme.com', userAgent: '${person}', referrer: '', languages: 'de', country: '' }
      for (let n = 0; n < ${many}; n++) {
        const address = '8.8.' + (n >> 8 & 255) + '.' + (n & 255)
        const visit = { link: 1 + n % ${links}, atMs: Date.now(), class: 'person', isPrivate: false, address, ...sent, count: 1 }
        this.add(visit)
      }
      const waiting = this.meters.find(({ name }) => name === 'unwritten').value()
      process.stdout.write('waiting: ' + waiting + '\\n')
      process.kill(process.pid, 'SIGTERM')
    })
    start.call(this)
    process.stdout.write('ready\\n')
  }`

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`loses none of ${many} pending clicks with SIGTERM, on ${engine}`, async (t) => {
    const location = await newLocation((work) => t.after(work), engine)
    const url = location.engine === 'sqlite' ? `sqlite:${location.path}` : location.url
    const variables = { DATABASE_URL: url, PORT: '0', REDIRECT_PORT: String(await freePort()), OPS_PORT: '0' }
    const preload = ['--import', `data:text/javascript,${encodeURIComponent(clicksThenStop)}`]
    const server = await listening(run(t, variables, {}, preload))
    const storage = await openStorage(location)
    t.after(() => storage.close())
    const domain = await newDomain(storage, 1, 'go.acme.com')
    for (let n = 0; n < links; n++) await newLink(storage, { account: 1, domain }, `l${n}`)

    await server.said(/^ready$/m)
    const { code, stdout } = await server.end('SIGUSR2')
    assert.equal(code, 0)
    assert.ok(stdout.includes(`waiting: ${many}\n`))
    const totals = await keptTotals(storage)
    assert.deepEqual(
      totals.map(({ clicks }) => clicks),
      Array(links).fill(many / links),
    )
    const sums = new Map<number, number>()
    for (const { scope, facts } of await keptDays(storage)) {
      sums.set(scope, (sums.get(scope) ?? 0) + sumsOf(facts).people)
    }
    assert.deepEqual([...sums.values()], [many, many, many])
  })
}
