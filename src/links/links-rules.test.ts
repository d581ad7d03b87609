/** Destinations of rules count wherever the destination of a link counts, on both engines. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { newestEvent, newPlace } from '../../test/links-api.ts'
import { commandActor } from '../access/actor.ts'
import { runBatch } from './batch.ts'
import { findLinkWarnings } from './link-warnings.ts'
import type { Replacement } from './replacement.ts'

const url = 'https://acme.com/'
const spelled = 'https://bücher.example/R%C3%BCck'
const test1 = {
  name: 'Test',
  countries: ['DE'],
  urls: [
    { url, weight: 1 },
    { url: spelled, weight: 2 },
  ],
}
const plain = { name: 'Plain', url: 'https://shop.example/PLAIN' }
const rules = [test1, plain]

const apps = { sqlite: await startApp({ engine: 'sqlite' }), postgres: await startApp({ engine: 'postgres' }) }

for (const [engine, app] of Object.entries(apps)) {
  const shortUrl = (domain: string, alias: string) => `https://${domain}/${alias}`
  /** Replaces text in the destinations of links. Returns their results. */
  const replace = async (account: number, ids: readonly number[], replacement: Replacement) => {
    const change = { kind: 'update', ids, values: {}, replacement } as const
    const request = { actor: commandActor(account, 'Test'), change, isAtomic: false, claim: null, hasResults: true }
    const { body } = await runBatch(app.storage, request, { shortUrl, urlSchemes: [] })
    return JSON.parse(new TextDecoder().decode(body)).data
  }

  describe(`${engine}: destinations of rules`, () => {
    test('are found in every spelling after each kind of change, and no longer after they are removed', async () => {
      const { send, link, account } = await newPlace(app)
      const found = async (search: string) =>
        (await send('GET', `/links?search_by=url&search=${encodeURIComponent(search)}`)).body.data.length
      const searches = ['rück', 'R%C3%BCck', 'BÜCHER.example', 'xn--bcher-kva', 'shop.example/plain', 'acme plain rück']
      const assertFound = async (count: number, step: string) => {
        for (const search of searches) assert.equal(await found(search), count, `${step}: ${search}`)
      }
      const undo = async () => {
        const { status, text } = await send('POST', `/events/${(await newestEvent({ send } as never)).id}/undo`)
        assert.ok(status < 300, text)
      }
      const { id } = await link({ rules })
      await assertFound(1, 'store')
      await send('PATCH', `/links/${id}`, { json: { rules: [] } })
      await assertFound(0, 'update')
      await undo()
      await assertFound(1, 'undo')
      await send('PATCH', `/links/${id}`, { json: { url: 'https://acme.com/other' } })
      await assertFound(1, 'update of the URL')
      await send('PATCH', '/links/bulk', { json: { ids: [id], set: { rules: null } } })
      await assertFound(0, 'bulk update')
      await send('PATCH', '/links/bulk', { json: { ids: [id], set: { rules } } })
      await assertFound(1, 'bulk update back')
      await send('DELETE', `/links/${id}`)
      await assertFound(0, 'deletion')
      await undo()
      await assertFound(1, 'restoration')
      await replace(account, [id], { find: 'Rück', replace: 'x', part: 'all' })
      await assertFound(1, 'replacement of text that is not there')
      await replace(account, [id], { find: 'R%C3%BCck', replace: 'Neu', part: 'all' })
      assert.deepEqual([await found('rück'), await found('bücher.example/NEU')], [0, 1])
      await undo()
      await assertFound(1, 'undo of the replacement')
      await send('POST', '/links/bulk', { json: { links: [{ url, rules }] } })
      await assertFound(2, 'bulk store')
    })

    test('are lists in the history, and an undo gets the rules before back', async () => {
      const own = await newPlace(app)
      const { send, link } = own
      const event = async () => (await newestEvent(own)) as Json
      const none = await link()
      assert.equal('rules' in (await event()).changes, false)
      const { id } = await link({ rules })
      assert.deepEqual((await event()).changes.rules, [null, rules])
      const first = await event()
      for (const [set, changes] of [
        [[], [rules, []]],
        [[plain], [[], [plain]]],
        [[{ ...plain, name: 'B' }], [[plain], [{ ...plain, name: 'B' }]]],
      ] as const) {
        await send('PATCH', `/links/${id}`, { json: { rules: set } })
        const updated = await event()
        assert.deepEqual(updated.changes, { rules: changes })
        assert.deepEqual((await send('POST', `/events/${updated.id}/undo`)).body.data.rules, changes[0])
        const undone = await event()
        assert.deepEqual(undone.changes, { rules: changes.toReversed() })
        assert.deepEqual((await send('POST', `/events/${undone.id}/undo`)).body.data.rules, changes[1])
      }
      assert.equal((await send('POST', `/events/${first.id}/undo`)).body.code, 'not_undoable')
      await send('DELETE', `/links/${none.id}`)
      assert.equal('rules' in (await event()).changes, false)
      await send('DELETE', `/links/${id}`)
      const deletion = await event()
      assert.deepEqual(deletion.changes.rules, [[{ ...plain, name: 'B' }], null])
      const { body } = await send('POST', `/events/${deletion.id}/undo`)
      assert.deepEqual(body.data.rules, [{ ...plain, name: 'B' }])
    })

    test('return when the creation, or a whole batch, is undone', async () => {
      const own = await newPlace(app)
      const ids = [(await own.link({ rules })).id, (await own.link()).id]
      const created = await newestEvent(own)
      assert.equal((await own.send('POST', `/events/${created.id}/undo`)).status, 204)
      const deletion = (await own.send('GET', `/events/${created.id}`)).body.data.undone_by
      assert.deepEqual((await own.send('POST', `/events/${deletion}/undo`)).body.data.rules, [])
      await own.send('PATCH', '/links/bulk', { json: { ids, set: { rules: [plain] } } })
      const { batch_id } = await newestEvent(own)
      await own.send('POST', '/events/undo', { json: { batch_id } })
      const shown = await Promise.all(ids.map(async (id) => (await own.send('GET', `/links/${id}`)).body.data.rules))
      assert.deepEqual(shown, [rules, []])
    })

    test('can’t meet a permanent redirect again by an undo of either', async () => {
      const { send, link, ...own } = await newPlace(app)
      const changed = async (id: number, json: Json) => {
        assert.equal((await send('PATCH', `/links/${id}`, { json })).status, 200)
        return (await newestEvent({ send, ...own } as never)).id
      }
      const refusal = async (event: number) => {
        const { status, body } = await send('POST', `/events/${event}/undo`)
        return [status, body.code, /permanent redirect/.test(body.detail)]
      }
      const permanent = await link({ redirect_status: 308 })
      const temporary = await changed(permanent.id, { redirect_status: 302 })
      await changed(permanent.id, { rules })
      assert.deepEqual(await refusal(temporary), [409, 'not_undoable', true])
      const ruled = await link({ rules })
      const removed = await changed(ruled.id, { rules: [] })
      await changed(ruled.id, { redirect_status: 301 })
      assert.deepEqual(await refusal(removed), [409, 'not_undoable', true])
      const both = await changed((await link({ redirect_status: 308 })).id, { rules, redirect_status: 302 })
      assert.equal((await send('POST', `/events/${both}/undo`)).status, 200)
    })

    test('change with text that is replaced, and the first violation names its place', async () => {
      const own = await newPlace(app)
      const { id } = await own.link({ url: 'https://kept.example/', rules, alias: 'own' })
      const [row] = await replace(own.account, [id], { find: 'acme.com', replace: 'acme.org', part: 'host' })
      const [{ url: first }, { url: second }] = row.data.rules[0].urls
      assert.deepEqual([row.data.url, first, second], ['https://kept.example/', 'https://acme.org/', spelled])
      const { changes } = await newestEvent(own)
      assert.deepEqual(Object.keys(changes), ['rules'])
      const [loop] = await replace(own.account, [id], {
        find: 'https://shop.example/PLAIN',
        replace: `https://${own.domain.name}/OWN`,
        part: 'all',
      })
      assert.deepEqual([loop.status, loop.violations[0].field, loop.violations[0].code], [422, 'rules.1.url', 'loops'])
      const [long] = await replace(own.account, [id], { find: 'P', replace: 'p'.repeat(8_190), part: 'all' })
      assert.deepEqual([long.violations[0].field, long.violations[0].code], ['rules.1.url', 'too_long'])
      const [both] = await replace(own.account, [id], { find: 'example', replace: 'test', part: 'host' })
      assert.deepEqual([both.data.url, both.data.rules[1].url], ['https://kept.test/', 'https://shop.test/PLAIN'])
    })

    test('can be exported and stored again', async () => {
      const [own, other] = [await newPlace(app), await newPlace(app)]
      await own.link({ rules: [{ ...plain, name: '=1+1, "x"' }] })
      await own.link()
      const { text } = await own.send('GET', '/links/export')
      assert.ok(text.includes(`,302,"[{""name"":""=1+1, \\""x\\""""`), text)
      const headers = { 'content-type': 'text/csv' }
      const stored = await other.send('POST', '/links/bulk', {
        body: text.replace(/^\d+,\d+,/gm, ',,').replace(/^,,,/, 'id,domain_id,'),
        headers,
      })
      assert.deepEqual(
        stored.body.data.map(({ data }: Json) => data?.rules),
        [[{ ...plain, name: '=1+1, "x"' }], []],
        stored.text,
      )
      const lines = (await own.send('GET', '/links/export?format=jsonl')).text.trimEnd().split('\n')
      assert.deepEqual(
        lines.map((line) => JSON.parse(line).rules),
        [[{ ...plain, name: '=1+1, "x"' }], []],
      )
    })

    test('are warned about: typos of top-level domains and own short links, five at most', async () => {
      const own = await newPlace(app)
      const { short_url } = await own.link({ alias: 'other' })
      const [, at = ''] = /^http:\/\/(.*)\/other$/.exec(short_url) ?? []
      const warned = async (stored: Json) => {
        const warningsOf = await findLinkWarnings(app.storage, own.account, [stored], {
          shortUrl: (_, alias) => `http://${at}/${alias}`,
        })
        return warningsOf(stored).map(({ field, code, params }) => ({ field, code, ...params }))
      }
      const urls = ['https://a.acme.con/1', 'https://a.acme.con/2', short_url, `http://${at}/none`, 'mailto:a@b.con']
      const stored = { url, rules: urls.map((url, n) => ({ name: `${n}`, url })) }
      assert.deepEqual(await warned(stored), [
        { field: 'rules.0.url', code: 'unknown_top_level', host: 'a.acme.con', last: 'con' },
        { field: 'rules.2.url', code: 'own_short_link', shortUrl: short_url },
      ])
      const many = Array.from({ length: 20 }, (_, n) => ({ name: `${n}`, url: `https://${n}.acme.con` }))
      assert.equal((await warned({ url, rules: many })).length, 5)
    })
  })
}
