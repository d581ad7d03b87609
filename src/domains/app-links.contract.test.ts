import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { assertRefused } from '../../test/links-api.ts'

const domains = '/api/v1/domains'
const apple = '{"applinks": {"details": [{"appIDs": ["ABCDE12345.com.acme.app"], "components": [{"/": "/*"}]}]}}'
const target = '{"namespace": "android_app", "package_name": "com.acme", "sha256_cert_fingerprints": ["14:6D"]}'
const statement = `{"relation": ["delegate_permission/common.handle_all_urls"], "target": ${target}}`
const largest = `[{"include":"${'ü'.repeat((24 * 1024 - 16) / 2)}"}]`
let made = 0
const freshName = () => `d${++made}.acme.com`

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`app links: ${engine}`, async () => {
    const app = await startApp({ engine })

    const stored = (fields: Json) => app.stored('/domains', { name: freshName(), ...fields })
    const change = (id: number, form: Json) => app.send('PATCH', `${domains}/${id}`, { form })

    test('201 and 200 with the texts as sent, only trimmed, after not_found_url', async () => {
      const spaced = ` \ufeff\n\t${apple.replaceAll(': ', ':\r\n\t')}\r\n`
      const trimmed = apple.replaceAll(': ', ':\n\t')
      const record = await stored({ apple_app_site_association: spaced, asset_links: `[${statement}]` })
      assert.deepEqual([record.apple_app_site_association, record.asset_links], [trimmed, `[${statement}]`])
      assert.deepEqual(Object.keys(record).slice(4, 7), ['not_found_url', 'apple_app_site_association', 'asset_links'])
      const form = { apple_app_site_association: '{"appclips":{"apps":[]},"other":1}', asset_links: '[]' }
      const { status, body } = await change(record.id, form)
      assert.equal(status, 200)
      assert.deepEqual({ ...body.data, updated_at: '' }, { ...record, ...form, updated_at: '' })
      const back = await app.send('PUT', `${domains}/${record.id}`, { json: body.data })
      assert.deepEqual([back.status, back.body.data], [200, body.data])
      const listed = await app.send('GET', `${domains}?search=${record.name}`)
      assert.deepEqual(listed.body.data, [body.data])
    })

    test('200 with null for an empty, blank or null text, and with the other text unchanged', async () => {
      for (const empty of ['', ' \n\t', null]) {
        const { id, asset_links } = await stored({ apple_app_site_association: apple, asset_links: '[]' })
        const json = { apple_app_site_association: empty }
        const { body } = await app.send('PATCH', `${domains}/${id}`, { json })
        assert.deepEqual([body.data.apple_app_site_association, body.data.asset_links], [null, asset_links])
      }
    })

    test('201 for 24 KiB of UTF-8, 422 too_long for one more byte', async () => {
      assert.equal(Buffer.byteLength(largest), 24 * 1024)
      assert.equal((await stored({ asset_links: largest })).asset_links, largest)
      const answer = await app.send('POST', domains, { json: { name: freshName(), asset_links: `${largest} x` } })
      assertRefused(answer, ['asset_links', 'too_long'])
      assert.equal(answer.body.message, 'The asset_links field must have at most 24 KiB in UTF-8.')
    })

    test('undo returns the previous texts, and a deleted domain with them', async () => {
      const before = { apple_app_site_association: apple, asset_links: null }
      const { id, name } = await stored(before)
      await change(id, { apple_app_site_association: '', asset_links: `[${statement}]` })
      const [changed] = (await app.send('GET', `/api/v1/events?record=domain&record_id=${id}`)).body.data
      const changes = { apple_app_site_association: [apple, null], asset_links: [null, `[${statement}]`] }
      assert.deepEqual(changed.changes, changes)
      const undone = await app.send('POST', `/api/v1/events/${changed.id}/undo`)
      assert.partialDeepStrictEqual(undone.body.data, { name, ...before })
      await app.send('DELETE', `${domains}/${id}`)
      const [deleted] = (await app.send('GET', `/api/v1/events?record=domain&record_id=${id}`)).body.data
      assert.deepEqual(deleted.changes.apple_app_site_association, [apple, null])
      const restored = await app.send('POST', `/api/v1/events/${deleted.id}/undo`)
      assert.partialDeepStrictEqual(restored.body.data, { name, ...before })
      assert.equal((await app.visit(`http://${name}/apple-app-site-association`)).text, apple)
    })
  })
}

describe('app links', async () => {
  const app = await startApp()
  const { id } = (await app.send('POST', domains, { form: { name: freshName() } })).body.data

  async function refused(field: string, text: unknown, code: string): Promise<string> {
    const answer = await app.send('PATCH', `${domains}/${id}`, { json: { [field]: text } })
    assertRefused(answer, [field, code])
    assert.ok(answer.body.message.length < 300, answer.body.message)
    return answer.body.message
  }

  test('422 malformed_json with the line and the column in the sent text, and the characters there', async () => {
    for (const [text, problem] of [
      ['{"applinks": {},}', 'line 1, column 17: unexpected }'],
      ['\r\n\r\n  {"applinks":\n  x}', 'line 4, column 3: unexpected x'],
      ['  [1', 'line 1, column 5: it ends too early'],
      ['{"applinks": {}} {}', 'line 1, column 18: unexpected {'],
      ["{'applinks': {}}", "line 1, column 2: unexpected 'applinks'"],
      ['{"applinks": "a\nb"}', 'line 1, column 14: unexpected "a…'],
      ['{"applinks": "\\x"}', 'line 1, column 14: unexpected "\\x"'],
      [`{"applinks": ${'y'.repeat(5_000)}}`, `line 1, column 14: unexpected ${'y'.repeat(20)}…`],
      [`{"applinks": ${'y'.repeat(19)}😀z}`, `line 1, column 14: unexpected ${'y'.repeat(19)}\ufffd…`],
      ['{"applinks":\u00a0{}}', 'line 1, column 13: unexpected \u00a0'],
      ['['.repeat(24 * 1024), 'line 1, column 24577: it ends too early'],
      [`{"applinks":${'{"a":'.repeat(4_000)}`, 'line 1, column 20013: it ends too early'],
      ['go.acme.com', 'line 1, column 1: unexpected go.acme.com'],
    ] as const) {
      for (const field of ['apple_app_site_association', 'asset_links'])
        assert.ok((await refused(field, text, 'malformed_json')).includes(`${problem}. Put`), text)
    }
  })

  test('422 not_allowed for other JSON, with the line and the column of the value', async () => {
    for (const [field, text, at] of [
      ['apple_app_site_association', '[]', 'line 1, column 1'],
      ['apple_app_site_association', '\n {}', 'line 2, column 2'],
      ['apple_app_site_association', 'null', 'line 1, column 1'],
      ['apple_app_site_association', '"applinks"', 'line 1, column 1'],
      ['apple_app_site_association', '{"appLinks": {}}', 'line 1, column 1'],
      ['apple_app_site_association', '{"applinks": []}', 'line 1, column 1'],
      ['apple_app_site_association', '{"applinks": {}, "appclips": 1}', 'line 1, column 1'],
      ['apple_app_site_association', '{"applinks": {}, "applinks": {}}', 'line 1, column 1'],
      ['apple_app_site_association', '{"__proto__": {"applinks": {}}}', 'line 1, column 1'],
      ['apple_app_site_association', '{"constructor": {"applinks": {}}}', 'line 1, column 1'],
      ['asset_links', '{}', 'line 1, column 1'],
      ['asset_links', '1', 'line 1, column 1'],
      ['asset_links', '[1]', 'line 1, column 2'],
      ['asset_links', `[\n${statement},\n  {}]`, 'line 3, column 3'],
      ['asset_links', `[${statement}, {"relation": [], "target": []}]`, `line 1, column ${statement.length + 4}`],
      ['asset_links', '[{"relation": "x", "target": {}}]', 'line 1, column 2'],
      ['asset_links', '[{"include": 1}]', 'line 1, column 2'],
      ['asset_links', '[{"__proto__": {"include": "https://acme.com/a.json"}}]', 'line 1, column 2'],
      ['asset_links', '[{"include": "a", "include": "b"}]', 'line 1, column 2'],
      ['asset_links', `[${'1,'.repeat(12_000)}1]`, 'line 1, column 2'],
    ] as const) {
      assert.ok((await refused(field, text, 'not_allowed')).includes(` at ${at}.`), text.slice(0, 40))
    }
  })

  test('422 for values that are not text, and for control characters', async () => {
    for (const field of ['apple_app_site_association', 'asset_links']) {
      for (const value of [1, true, { applinks: {} }]) await refused(field, value, 'not_a_string')
      await refused(field, [{ include: 'https://acme.com/a.json' }], 'not_single')
      for (const text of ['[\0]', '{"applinks": {"\u0007": 1}}', '[\r]', '["\ud800"]'])
        await refused(field, text, 'control_characters')
    }
  })

  test('200 for escapes, deep nesting and further members, which are stored as sent', async () => {
    const deep = `{"applinks": {"details": ${'['.repeat(10_000)}${']'.repeat(10_000)}}}`
    for (const text of [deep, '{"applinks": {"a": "\\u0000\\ud800"}}', '{"appclips": {}, "__proto__": 1}']) {
      const { status, body } = await app.send('PATCH', `${domains}/${id}`, {
        json: { apple_app_site_association: text },
      })
      assert.deepEqual([status, body.data.apple_app_site_association], [200, text])
    }
    const asset_links = '[{"include": "https://acme.com/a.json"}, {"relation": [], "target": {}}]'
    assert.equal((await app.send('PATCH', `${domains}/${id}`, { json: { asset_links } })).status, 200)
  })
})
