/** The rules of links in forms without scripts. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../app.ts'
import type { Json } from '../client.ts'
import { newOwner } from '../dashboard.ts'
import { all, de, RuleForms, split, storedRules } from '../dashboard-rules.ts'
import { textOf } from '../html-page.ts'

const app = await startApp()
const owner = await newOwner(app)
const forms = new RuleForms(owner)

test('creates a link with a rule, which visitors get', async () => {
  const form = await forms.create()
  assert.match(textOf(form.section), /Everyone gets the same destination/)
  assert.equal(form.isOpen, false)
  await form.press('add', { url: 'https://acme.com/', alias: 'summer' })
  assert.deepEqual([form.isOpen, form.focus], [true, ['rules.0.name']])
  const condition = { 'rules.0.name': 'German', 'rules.0.condition': 'languages' }
  await form.press('add_condition.0', condition)
  assert.deepEqual(form.focus, ['rules.0.languages'])
  assert.match(form.page.value('once'), /^[\w-]{36}$/)
  const rules = await form.save({ 'rules.0.languages': 'German, pt-BR', 'rules.0.url': 'https://acme.com/de' })
  assert.deepEqual(rules, [{ name: 'German', languages: ['de', 'pt-BR'], url: 'https://acme.com/de' }])
  const host = owner.domain.name
  for (const [language, location] of [
    ['de-CH', 'https://acme.com/de'],
    ['fr', 'https://acme.com/'],
  ] as const) {
    const { headers } = await app.visit(`http://${host}/summer`, {
      headers: { 'accept-language': language },
    })
    assert.equal(headers.location, location)
  }
})

describe('without scripts, a button changes the form and nothing else', () => {
  test('adds, orders and removes rules, and keeps all values and the focus', async () => {
    const { id } = await owner.link({ rules: [de, split] })
    const form = await forms.edit(id)
    const before = form.values
    const version = form.page.value('version')
    assert.deepEqual([form.isOpen, form.focus], [false, []])
    await form.press('down.0', { title: 'Typed' })
    assert.deepEqual([form.page.value('rules.0.name'), form.page.value('rules.1.name')], ['Test', 'German'])
    assert.deepEqual([form.focus, form.page.value('title'), form.page.value('version')], [['up.1'], 'Typed', version])
    await form.press('up.1')
    assert.deepEqual([form.values, form.focus], [before, ['down.0']])
    await form.press('add')
    assert.deepEqual(form.focus, ['rules.2.name'])
    await form.press('up.2', { 'rules.2.name': 'New' })
    assert.deepEqual([form.focus, form.page.value('rules.1.name')], [['up.1'], 'New'])
    await form.press('remove.1')
    assert.deepEqual([form.values, form.focus], [before, ['rules.1.name']])
    await form.press('remove.1')
    await form.press('remove.0')
    assert.deepEqual([form.values, form.focus, form.isOpen], [{}, ['add'], true])
    assert.deepEqual(await storedRules(owner, id), [de, split])
    assert.deepEqual(await form.save(), [])
  })

  test('adds and removes conditions with their exact values', async () => {
    const { id } = await owner.link({ rules: [all] })
    const form = await forms.edit(id)
    const before = form.values
    assert.equal(form.page.value('rules.0.countries'), 'Germany, St. Vincent & Grenadines, Kosovo')
    assert.equal(form.page.value('rules.0.languages'), 'German, pt-BR, DE, *')
    assert.equal(form.page.value('rules.0.query'), 'utm_source=a%2Cb%26c=d%25, ref, x%3Dy%2C=')
    for (const name of ['countries', 'weekdays', 'until', 'query'] as const) {
      await form.press(`remove_condition.0.${name}`)
      assert.deepEqual(form.focus, ['rules.0.condition'])
      assert.deepEqual(
        Object.keys(before).filter((key) => !(key in form.values)),
        Object.keys(before).filter((key) => new RegExp(`rules\\.0\\.${name}(?:\\.|$)`).test(key)),
      )
      await form.press('add_condition.0', { 'rules.0.condition': name })
      assert.equal(form.focus.length, 1)
      assert.match(String(form.focus[0]), new RegExp(`^rules\\.0\\.${name}`))
      // The removed values, as people enter them again.
      await form.press('add', before)
      await form.press('remove.1')
      assert.deepEqual(form.values, before)
    }
    assert.deepEqual(await form.save(), [all])
  })

  test('adds and removes destinations', async () => {
    const form = await forms.create()
    await form.press('add', { url: 'https://acme.com/' })
    await form.press('add_variant.0', { 'rules.0.name': 'Test', 'rules.0.url': 'https://acme.com/a' })
    assert.deepEqual(form.focus, ['rules.0.urls.1.url'])
    await form.press('add_variant.0', { 'rules.0.urls.1.url': 'https://acme.com/b', 'rules.0.urls.1.weight': '7' })
    assert.deepEqual(form.values, {
      'rules.0.name': 'Test',
      ...{ 'rules.0.urls.0.url': 'https://acme.com/a', 'rules.0.urls.0.weight': '50' },
      ...{ 'rules.0.urls.1.url': 'https://acme.com/b', 'rules.0.urls.1.weight': '7' },
      ...{ 'rules.0.urls.2.url': '', 'rules.0.urls.2.weight': '7' },
    })
    await form.press('remove_variant.0.0')
    assert.deepEqual(form.focus, ['rules.0.urls.0.url'])
    await form.press('remove_variant.0.1')
    assert.deepEqual(
      [form.values, form.focus],
      [{ 'rules.0.name': 'Test', 'rules.0.url': 'https://acme.com/b' }, ['rules.0.url']],
    )
    for (let n = 2; n <= 10; n += 1) await form.press('add_variant.0')
    assert.ok(!form.buttons.includes('add_variant.0'))
  })

  test('ignores buttons that the form does not have', async () => {
    const { id } = await owner.link({ rules: [de] })
    const form = await forms.edit(id)
    for (const button of [
      '',
      'up',
      'up.9',
      'down.x',
      'remove.-1',
      'remove_variant.0.5',
      'constructor',
      'x.0.y',
      'up.0',
    ]) {
      const { status, page } = await owner.browser.submit(form.page, form.action, { edit_rules: button, title: 'Kept' })
      assert.deepEqual([status, page.value('rules.0.name'), page.value('title')], [200, 'German', 'Kept'], button)
    }
    assert.deepEqual(await storedRules(owner, id), [de])
    assert.equal((await owner.browser.post('/app/links/999999', { edit_rules: 'add' })).status, 404)
  })

  test('offers no 21st rule, and says so if one is sent', async () => {
    const rules = Array.from({ length: 20 }, (_, n) => ({ name: `Rule ${n}`, url: `https://acme.com/${n}` }))
    const { id } = await owner.link({ rules })
    const form = await forms.edit(id)
    assert.ok(!form.buttons.includes('add'))
    await form.reject({ 'rules.20.name': 'More', 'rules.20.url': 'https://acme.com/more' })
    assert.match(form.page.text, /“Rules” takes at most 20 values\./)
    assert.equal(form.page.value('rules.20.name'), 'More')
    await form.press('remove.3')
    assert.deepEqual(
      (await form.save()).map(({ name }: Json) => name),
      [...rules.map(({ name }) => name).toSpliced(3, 1), 'More'],
    )
  })
})

test('saves all conditions without changing them, and in the order of records', async () => {
  const { id } = await owner.link({ rules: [all, split] })
  const form = await forms.edit(id)
  assert.deepEqual(await form.save(), [all, split])
  const { body } = await owner.send('GET', `/events?record=link&record_id=${id}`)
  assert.deepEqual(
    body.data.map(({ type }: Json) => type),
    ['link.created'],
  )
})

test('reads names and codes in any case, periods as people write them, and queries as URLs have them', async () => {
  const form = await forms.create()
  await form.press('add', { url: 'https://acme.com/' })
  const typed = {
    'rules.0.name': 'Typed',
    'rules.0.url': 'https://acme.com/x',
    'rules.0.countries': " germany, at,Cote d'ivoire,, ",
    'rules.0.languages': 'french, BRAZIL, zh-Hant',
    'rules.0.operating_systems': 'IOS, macos',
    'rules.0.query': 'a=1&b&c=2,d=',
    'rules.0.hours': ' 9:00 – 17:30',
    'rules.0.devices': '',
    'rules.0.devices.tablet': 'true',
  }
  const { 'rules.0.languages': _, ...valid } = typed
  await form.press('add_condition.0', typed)
  assert.deepEqual(await form.save({ 'rules.0.languages': 'french, zh-Hant' }), [
    {
      name: 'Typed',
      countries: ['DE', 'AT', 'CI'],
      languages: ['fr', 'zh-Hant'],
      devices: ['tablet'],
      operating_systems: ['iOS', 'macOS'],
      query: { a: '1', b: null, c: '2', d: '' },
      hours: '09:00-17:30',
      url: valid['rules.0.url'],
    },
  ])
})

test('a copy has the rules of the link', async () => {
  const { id } = await owner.link({ rules: [all, split] })
  const form = await forms.create(`?copy=${id}`)
  assert.deepEqual(await form.save(), [all, split])
})

test('times are in the zone of the person, hours in the zone of the account, and unedited times stay exact', async () => {
  const zones = await newOwner(app)
  await zones.browser.save('/app/account', { time_zone: 'Asia/Tokyo' })
  await zones.browser.save('/app/profile', { time_zone: 'Europe/Berlin' })
  // The second 02:30 of the night.
  const rule = { name: 'A', from: '2026-10-25T01:30:00.000Z', until: '2026-11-01T12:00:00.000Z', hours: '09:00-17:30' }
  const { id } = await zones.link({ rules: [{ ...rule, url: 'https://acme.com/a' }] })
  const page = await zones.browser.open(`/app/links/${id}/edit`)
  assert.match(page.text, /the time is before \(Europe\/Berlin\)/)
  assert.match(page.text, /In the account’s time zone, Asia\/Tokyo\./)
  assert.equal(page.value('rules.0.from'), '2026-10-25T02:30')
  await zones.browser.after(
    await zones.browser.submit(page, `/app/links/${id}`, { 'rules.0.until': '2026-11-01T12:00' }),
  )
  const [stored] = (await zones.send('GET', `/links/${id}`)).body.data.rules
  assert.deepEqual([stored.from, stored.until], [rule.from, '2026-11-01T11:00:00.000Z'])
  assert.match((await zones.browser.open(`/app/links/${id}`)).text, /the time is from Oct 25, 2026, 02:30 GMT\+1/)
})

test('shows hostile names and values in the form as text', async () => {
  const rule = { name: '"><script>', query: { '</textarea>': '"x' }, url: 'https://acme.com/"><i>' }
  const { id } = await owner.link({ rules: [rule, { name: '\u05d0\u202e', url: 'https://acme.com/' }] })
  const form = await forms.edit(id)
  assert.equal(form.page.value('rules.0.name'), rule.name)
  await form.press('add_variant.1')
  await form.press('remove_variant.1.1')
  assert.equal((await form.save())[0].name, rule.name)
})
