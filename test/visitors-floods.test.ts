/** Floods of unknown names, while people visit a link. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { newDatabase } from './processes.ts'
import { Crowd, startVisited, statusesOf } from './visited-server.ts'
import { person } from './visitors.ts'

const connections = 8
const perPacket = 25

/** Visits the URLs over a few persistent connections. Returns the number of responses by status. */
async function flood(port: number, urls: readonly (readonly [host: string, path: string])[]) {
  const counts: Record<string, number> = {}
  const work = async (own: typeof urls) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true }).setEncoding('latin1')
    await once(socket, 'connect')
    for (let from = 0; from < own.length; from += perPacket) {
      const packet = own.slice(from, from + perPacket)
      const lines = packet.map(
        ([host, path]) => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: ${person} ${host}${path}\r\n\r\n`,
      )
      socket.write(lines.join(''))
      let answered = 0
      while (answered < packet.length) {
        const [text] = await once(socket, 'data')
        for (const [, status = ''] of text.matchAll(/HTTP\/1\.1 (\d{3})/g)) {
          counts[status] = (counts[status] ?? 0) + 1
          answered += 1
        }
      }
    }
    socket.destroy()
  }
  const share = Math.ceil(urls.length / connections)
  await Promise.all(Array.from({ length: connections }, (_, n) => work(urls.slice(n * share, (n + 1) * share))))
  return counts
}

test('keeps redirecting with bounded memory during floods of unknown hosts, aliases and user agents', async (t) => {
  const server = await startVisited(t, newDatabase(t).variables)
  await server.stored('/domains', { name: 'go.acme.com' })
  await server.stored('/links', { alias: 'known', url: 'https://acme.com' })
  const crowd = new Crowd(t, [server], ['http://go.acme.com/known'], 2)
  const names = (from: number, many: number, name: (n: number) => readonly [string, string]) =>
    Array.from({ length: many }, (_, n) => name(from + n))
  const hosts = (from: number, many: number) => names(from, many, (n) => [`h${n}.example`, '/known'])
  const aliases = (from: number, many: number) => names(from, many, (n) => ['go.acme.com', `/a${n}`])
  const rounds: Record<string, number>[] = []
  const rss = () => server.metric('process_resident_memory_bytes')

  rounds.push(await flood(server.visitPort, hosts(0, 2_000)))
  const [asked, before] = [await server.metric('waymark_directory_missed_lookups_total'), await rss()]
  rounds.push(await flood(server.visitPort, hosts(2_000, 8_000)))
  assert.equal(await server.metric('waymark_directory_missed_lookups_total'), asked)
  rounds.push(await flood(server.visitPort, aliases(0, 12_000)))
  const unknown = await server.metric('waymark_directory_unknown_aliases')
  assert.ok(unknown > 0 && unknown <= 10_000, String(unknown))
  const after = await rss()
  await crowd.end()
  for (const counts of rounds) {
    // A busy machine sheds load.
    assert.ok(Object.keys(counts).every((status) => status === '404' || status === '503'))
    assert.ok((counts['404'] ?? 0) > 100)
  }
  assert.deepEqual(Object.keys(statusesOf(crowd.visits)), ['302'])
  // Each cached name would take at least a hundred bytes, and each cached request a kilobyte.
  assert.ok(after - before < 40_000_000, `${before} to ${after}`)
  assert.equal((await server.end('SIGTERM')).code, 0)
})
