/** Rules as sentences on the link page and in the history. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../app.ts'
import { newOwner } from '../dashboard.ts'
import { all, de, split } from '../dashboard-rules.ts'
import { allOf, textOf } from '../html-page.ts'

const app = await startApp()
const owner = await newOwner(app)

describe('shows rules as a numbered list of sentences', () => {
  const hostile = { name: '"><b>שלום', query: { '<i>': 'ערך' }, url: `https://acme.com/${'long/'.repeat(100)}` }
  const sentence =
    'All: if the country is Germany, St. Vincent & Grenadines or Kosovo, ' +
    'the language is German, Brazilian Portuguese, German or *, the device is mobile or TV, ' +
    'the operating system is iOS or Chrome OS, the browser is Samsung Internet for Android, ' +
    'the query has utm_source=a%2Cb%26c=d%25, ref and x%3Dy%2C=, the time is from Oct 25, 2026, 00:30 UTC, ' +
    'the time is before Jan 2, 2030, 03:04 UTC, the weekday is Monday or Sunday and the time of day is 22:00-24:00, redirect to '

  test('on the link page, with links to the destinations', async () => {
    const { id } = await owner.link({ rules: [all, split, hostile] })
    const page = await owner.browser.open(`/app/links/${id}`)
    const [list] = allOf(page.root, 'ol', { class: 'rules' })
    assert.ok(list)
    const [first, second, third] = allOf(list, 'li').map((item) => textOf(item).replace(/\s+/g, ' ').trim())
    assert.equal(first, `${sentence}acme.com/all`)
    assert.equal(second, 'Test: always redirect 60% to acme.com/a and 40% to acme.com/b')
    assert.match(String(third), /^"><b>שלום: if the query has <i>=ערך, redirect to acme\.com\/…/)
    assert.match(String(third), /\(never used, because rule 2 always matches\)$/)
    const targets = allOf(list, 'a').map(({ attributes }) => attributes.get('href'))
    assert.deepEqual(targets, [all.url, ...split.urls.map(({ url }) => url), hostile.url])
    const isolated = allOf(list, 'bdi').map(textOf)
    for (const text of [hostile.name, '<i>=ערך']) assert.ok(isolated.includes(text), text)
  })

  test('in the history, with the old and the new rules', async () => {
    const { id } = await owner.link({ rules: [de] })
    await owner.send('PATCH', `/links/${id}`, { json: { rules: [split, hostile] } })
    await owner.send('PATCH', `/links/${id}`, { json: { rules: [] } })
    const page = await owner.browser.open(`/app/history?record=link&record_id=${id}`)
    const [removed, changed] = allOf(page.root, 'dl', { class: 'changed' })
    assert.equal(page.text.match(/changed the rules of/g)?.length, 2)
    assert.match(textOf(removed as never), /Before: .*Test: always.*After: none/s)
    const [before, after] = ['del', 'ins'].map((name) => textOf(allOf(changed as never, name)[0] as never))
    assert.match(
      String(before),
      /German: if the country is Germany or Austria and the language is German, redirect to https:\/\/acme\.com\/de/,
    )
    assert.ok(after?.includes(hostile.url))
  })
})
