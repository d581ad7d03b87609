/** Rejected rules in forms without scripts. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../app.ts'
import { newOwner } from '../dashboard.ts'
import { all, de, newLinks, RuleForms, split, storedRules } from '../dashboard-rules.ts'
import { allOf, textOf } from '../html-page.ts'

const app = await startApp()
const owner = await newOwner(app)
const forms = new RuleForms(owner)

describe('keeps the input of a rejected form', () => {
  test('shows each error at its control, with its label, and in the summary with the rule', async () => {
    const { id } = await owner.link({ rules: [all, split] })
    const form = await forms.edit(id)
    const typed = {
      'rules.0.countries': 'Germany, Nowhere',
      'rules.0.languages': 'not a language',
      'rules.0.devices.mobile': undefined,
      'rules.0.devices.tv': undefined,
      'rules.0.query': '',
      'rules.0.hours': 'in the morning',
      'rules.0.url': 'acme',
      'rules.1.name': '',
      'rules.1.urls.0.weight': '101',
      'rules.1.urls.1.url': 'javascript:alert(1)',
      title: 'Kept',
    }
    await form.reject(typed)
    const messages = {
      'rules.0.countries': '“Country” has no option “Nowhere”. Choose one that the list suggests.',
      'rules.0.languages': '“Language” has no option “not a language”. Choose one that the list suggests.',
      'rules.0.devices.desktop': 'Fill in “Device”.',
      'rules.0.query': 'Fill in “Query”.',
      'rules.0.hours': '“Hours” must be a period such as 09:00-17:30.',
      'rules.0.url': '“Destination” must be a complete URL: write a URL such as',
      'rules.1.name': 'Fill in “Name”.',
      'rules.1.urls.0.weight': '“Weight 1” must be a whole number from 1 to 100.',
      'rules.1.urls.1.url': 'Only http:// and https:// are supported',
    }
    for (const [name, message] of Object.entries(messages)) {
      assert.ok(form.page.errorOf(name).includes(message), `${name}: ${form.page.errorOf(name)}`)
      const group = `Rule ${Number(name.split('.')[1]) + 1}: `
      assert.ok(form.page.text.includes(group), name)
    }
    assert.match(form.page.text, /Fix these 9 errors/)
    assert.match(form.page.text, /Rule 2: Destination 2: Only http:/)
    assert.ok(form.page.links.includes('#field-rules.0.devices'))
    assert.ok(form.isOpen)
    for (const [name, value] of Object.entries(typed))
      if (value !== undefined) assert.equal(form.page.value(name), value)
    assert.doesNotMatch(form.page.text, /rules\.\d|urls|operating_systems/)
    assert.deepEqual(await storedRules(owner, id), [all, split])
  })

  test('names clashing names, an end before its start, loops and permanent redirects', async () => {
    const form = await forms.create()
    const base = { url: 'https://acme.com/', 'rules.0.name': 'A', 'rules.0.url': 'https://acme.com/a' }
    const second = { 'rules.1.name': 'A', 'rules.1.url': 'https://acme.com/b' }
    await form.reject({ ...base, ...second })
    assert.match(form.page.errorOf('rules.1.name'), /The name A has already been taken by a rule/)
    const times = { 'rules.0.from': '2030-01-02T10:00', 'rules.0.until': '2030-01-02T09:00' }
    await form.reject({ ...second, 'rules.1.name': 'B', ...times })
    assert.match(form.page.errorOf('rules.0.until'), /“Until” must be after “From”\./)
    await form.reject({ 'rules.0.until': '', redirect_status: '301' })
    assert.match(form.page.errorOf('rules.0.until'), /Fill in “Until”\./)
    await form.reject({ 'rules.0.until': '2030-01-02T11:00', redirect_status: '301' })
    assert.match(form.page.errorOf('redirect_status'), /can’?not be permanent while the link has rules/)
    const own = { alias: 'loop', redirect_status: '302', 'rules.0.url': `https://${owner.domain.name}/loop` }
    await form.reject(own)
    assert.match(form.page.errorOf('rules.0.url'), /“Destination” must not be this short link itself\./)
  })

  test('adds the chosen condition if its button was not pressed, because without it the rule would match everyone', async () => {
    const form = await forms.create()
    await form.press('add', { url: 'https://acme.com/' })
    const typed = { 'rules.0.name': 'A', 'rules.0.url': 'https://acme.com/a', 'rules.0.condition': 'countries' }
    await form.reject(typed)
    assert.match(form.page.errorOf('rules.0.countries'), /Fill in “Country”\./)
    const [rule] = await form.save({ 'rules.0.countries': 'DE' })
    assert.deepEqual(rule.countries, ['DE'])
  })

  test('rejects unknown, repeated and misplaced controls', async () => {
    const base = { url: 'https://acme.com/', 'rules.0.name': 'A', 'rules.0.url': 'https://acme.com/a' }
    const page = await owner.browser.open('/app/links/new')
    for (const name of [
      ...['rules.0.color', 'rules.0.devices.watch', 'rules.0.urls', 'rules.99.name', 'rules.x', 'rules.0.'],
      ...['rules.00.name', 'exact_rules.0.name', 'rules.0.urls.99.url', 'rules.0.zone.x', 'rules[0].name'],
    ]) {
      const { status, page: again } = await owner.browser.submit(page, newLinks, { ...base, [name]: 'x' })
      assert.equal(status, 422, name)
      assert.ok(again.said.length > 0 || again.refused.length > 0, name)
    }
    const body = new URLSearchParams({ ...page.form(newLinks), ...base }).toString()
    const headers = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' }
    const repeated = await owner.browser.ask('POST', newLinks, { headers, body: `${body}&rules.0.name=B` })
    assert.equal(repeated.status, 422)
    assert.match(repeated.page.text, /Waymark does not know/)
    const gap = await owner.browser.submit(page, newLinks, {
      ...base,
      'rules.2.name': 'C',
      'rules.2.url': 'https://acme.com/c',
    })
    assert.equal(gap.status, 422)
    assert.match(gap.page.errorOf('rules.1.name'), /Fill in “Name”\./)
    assert.equal(gap.page.value('rules.2.name'), 'C')
    const both = await owner.browser.submit(page, newLinks, { ...base, 'rules.0.urls.0.url': 'https://acme.com/b' })
    assert.equal(both.status, 422)
    const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`rules.0.x${n}`, '']))
    assert.equal((await owner.browser.post(newLinks, many)).status, 400)
  })
})

test('if two people edit the rules, shows both versions as sentences, and keeps the input', async () => {
  const { id } = await owner.link({ rules: [de] })
  const form = await forms.edit(id)
  await form.press('add_condition.0')
  await owner.send('PATCH', `/links/${id}`, { json: { rules: [split] } })
  await form.reject({ 'rules.0.languages': 'French' }, 409)
  const [table] = allOf(form.page.root, 'table')
  assert.ok(table)
  const words = textOf(table).replace(/\s+/g, ' ')
  assert.match(
    words,
    /German: if the country is Germany or Austria and the language is French, redirect to https:\/\/acme\.com\/de/,
  )
  assert.match(words, /Test: always redirect 60% to https:\/\/acme\.com\/a and 40% to https:\/\/acme\.com\/b/)
  assert.equal(form.page.value('rules.0.languages'), 'French')
  assert.deepEqual(await form.save(), [{ ...de, languages: ['fr'] }])
})
