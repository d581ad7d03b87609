import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { freePort } from '../../test/processes.ts'
import { listenOn } from '../../test/servers.ts'
import { type Answer, OldServices } from './old-service.ts'
import { compareAnswers, type Proof, type ProofSource, type ProvedAddress, prove } from './proof.ts'

const to = (status: number, location: string | null): Answer => ({ status, location })
const tea = 'https://tea.example/'

for (const [old, people, programs, result, shown] of [
  [to(301, tea), to(301, tea), to(301, tea), 'same', 'people'],
  [to(301, tea), to(302, tea), to(302, tea), 'same_location', 'people'],
  [to(302, 'https://tea.example/old'), to(302, tea), to(302, tea), 'differs', 'people'],
  [to(404, null), to(302, tea), to(302, tea), 'differs', 'people'],
  [to(404, null), to(404, null), to(404, null), 'same', 'people'],
  [to(200, null), to(404, null), to(404, null), 'differs', 'people'],
  // A link with a limit shows programs a preview, and so does an old service that knows programs.
  [to(200, null), to(302, tea), to(200, null), 'same', 'programs'],
  [to(302, tea), to(302, tea), to(200, null), 'same', 'people'],
  [to(301, tea), to(302, tea), to(200, null), 'same_location', 'people'],
] as const) {
  const title = `${result}: ${[old, people, programs].map(({ status, location }) => `${status} ${location}`).join(', ')}`
  test(title, () => {
    const expected: Omit<Proof, 'row_id' | 'position'> = {
      result,
      old,
      reason: null,
      new: shown === 'people' ? people : programs,
    }
    assert.deepEqual(compareAnswers(old, [people, programs]), expected)
  })
}

test('unreachable: has no old answer, but a reason', () => {
  const own = to(302, tea)
  assert.deepEqual(compareAnswers('timeout', [own, own]), {
    result: 'unreachable',
    old: null,
    reason: 'timeout',
    new: own,
  })
})

const links = Object.entries({
  permanent: to(301, tea),
  temporary: to(302, tea),
  elsewhere: to(302, 'https://tea.example/new'),
  gone: to(404, null),
}).map(([path, answer], id) => ({ id, path, answer }))

/** Addresses that are pending, of hosts in the order in which they appear. */
function sourceOf(addresses: readonly ProvedAddress[]) {
  const saved: Proof[] = []
  const isPending = ({ row_id }: ProvedAddress) => saved.every((proof) => proof.row_id !== row_id)
  const source: ProofSource = {
    groups: async function* () {
      yield* new Set(addresses.filter(isPending).map(({ host }) => host))
    },
    next: async (host) => addresses.filter((address) => address.host === host && isPending(address)).slice(0, 2),
    save: async (proof) => void saved.push(proof),
  }
  return { source, resultOf: (row: number) => saved.find((proof) => proof.row_id === row)?.result, saved }
}

async function startOld(t: TestContext, onRequest: (path: string) => void = () => undefined) {
  const server = createServer((request, response) => {
    onRequest(request.url ?? '')
    const found = links.find(({ path }) => `/${path}` === request.url)?.answer ?? to(404, null)
    response.writeHead(found.status, found.location === null ? {} : { location: found.location }).end()
  })
  const port = await listenOn(t, server)
  return { address: '127.0.0.1', port }
}

const fingerprint = 'n3vaDcnoPlRmZQxY1sWu0k'
const ownAnswers = async () => [to(302, tea), to(302, tea)] as const
const addressesOn = (host: string, from: number) =>
  links.map(({ id, path }) => ({ row_id: from + id, position: 0, host, path, domain: 'go.acme.com', alias: path }))

test('compares the answers at every address of every host', async (t) => {
  const hosts = new Map([
    ['old.example', await startOld(t)],
    ['closed.example', { address: '127.0.0.1', port: await freePort() }],
  ])
  const { source, saved } = sourceOf([...addressesOn('old.example', 0), ...addressesOn('closed.example', 10)])
  const services = new OldServices({ hosts, pauseMs: 0 })
  await prove(source, { services, fingerprint, ownAnswers }, new AbortController().signal)
  const results = saved.sort((a, b) => a.row_id - b.row_id).map(({ result }) => result)
  assert.deepEqual(results, ['same_location', 'same', 'differs', 'differs', ...Array(4).fill('unreachable')])
})

test('keeps what is saved when it is stopped, and continues with the rest', async (t) => {
  const controller = new AbortController()
  const asked: string[] = []
  const endpoint = await startOld(t, (path) => {
    asked.push(path)
    if (path === '/elsewhere') controller.abort()
  })
  const services = new OldServices({ hosts: new Map([['old.example', endpoint]]), pauseMs: 0 })
  const { source, resultOf } = sourceOf(addressesOn('old.example', 0))
  const parts = { services, fingerprint, ownAnswers }
  await prove(source, parts, controller.signal)
  assert.deepEqual([0, 1, 2, 3].map(resultOf), ['same_location', 'same', undefined, undefined])
  asked.length = 0
  await prove(source, parts, new AbortController().signal)
  assert.deepEqual(asked, ['/.well-known/waymark', '/elsewhere', '/gone'])
  assert.deepEqual([0, 1, 2, 3].map(resultOf), ['same_location', 'same', 'differs', 'differs'])
})

test('stops asking every host when a result cannot be saved', async (t) => {
  const endpoint = await startOld(t)
  const services = new OldServices({ hosts: new Map(['a.example', 'b.example'].map((host) => [host, endpoint])) })
  const { source } = sourceOf([...addressesOn('a.example', 0), ...addressesOn('b.example', 10)])
  const failing = { ...source, save: () => Promise.reject(new Error('The database is down')) }
  const run = prove(failing, { services, fingerprint, ownAnswers }, new AbortController().signal)
  await assert.rejects(run, /The database is down/)
})
