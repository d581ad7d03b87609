/** A link's addresses: on its page, in its form, in the history, and when links move to another domain. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../app.ts'
import type { Json } from '../client.ts'
import { newOwner, type Owner, type Page, signedInMember } from '../dashboard.ts'
import { allOf, textOf } from '../html-page.ts'
import { clickOn, fresh } from '../links-api.ts'

const app = await startApp()
const owner = await newOwner(app)
const selected = '/app/links/selected'

const section = (page: Page) => textOf(allOf(page.root, 'section', { id: 'addresses' })[0] ?? assert.fail('no section'))
/** Requests a path from the redirect server. Returns the status. */
const visit = async (domain: Json, path: string) => (await app.visit(`http://${domain.name}/${path}`)).status
/** Returns the changes of a link, without author and time. */
const sentences = async ({ browser }: Owner, { id }: Json) => {
  const { root } = await browser.open(`/app/history?record=link&record_id=${id}`)
  const words = allOf(root, 'div', { class: 'deed' }).map((each) => textOf(each).replaceAll(/:\d+/g, ''))
  return words.map((text) => /(?:added|deleted|changed|moved|created) .*?(?= just now| \d+ )/.exec(text)?.[0] ?? text)
}
/** Adds an address with the page's form. Returns the page after it. */
const add = ({ browser }: Owner, { id }: Json, typed: Record<string, string>) =>
  browser.save(`/app/links/${id}`, typed, `/app/links/${id}/addresses`)

test('the link page lists its addresses with their clicks, QR codes and buttons to copy them', async () => {
  const { browser, domain } = owner
  const link = await owner.link({ alias: fresh('Tea'), exact: true })
  await clickOn(app.storage, link.id, 3, '2026-11-20T12:00:00Z')
  const page = await add(owner, link, { alias: 'print/tea' })
  assert.match(page.said.join(), /^Added the address go\S+\/print\/tea to \S+\. Undo/)
  assert.match(section(page), /Main address\s*Exact spelling\s*3/)
  assert.match(section(page), /print\/teaCopied0QR code/)
  assert.equal(await visit(domain, 'print/TEA'), 302)
  const copied = allOf(page.root, 'button').flatMap(({ attributes }) => attributes.get('data-copy') ?? [])
  assert.ok(
    copied.some((text) => text.endsWith('/print/tea')),
    copied.join(),
  )
  const codes = page.links.filter((href) => /\/qr\?format=svg&size=1024.*download=1/.test(href))
  const images = await Promise.all(codes.map(async (href) => (await browser.get(href)).text))
  assert.equal(new Set(images).size, 2)
  assert.equal((await browser.get(`/app/links/${link.id}/qr?address_id=999999`)).status, 404)
})

test('an address can be deleted after a question, and returns with Undo', async () => {
  const { browser, domain } = owner
  const link = await owner.link()
  const page = await add(owner, link, { alias: fresh('tea') })
  const [path = ''] = page.links.filter((href) => href.endsWith('/delete') && href.includes('/addresses/'))
  const alias = /\/(tea\d+)/.exec(section(page))?.[1] ?? ''
  const question = await browser.open(path)
  assert.equal(question.heading.replace(/:\d+/, ''), `Delete the address ${domain.name}/${alias}?`)
  assert.match(question.text, /Its other addresses keep working\.\s*The link keeps the 0 clicks/)
  const after = await browser.after(await browser.submit(question, path))
  assert.match(after.said.join(), /^Deleted the address \S+ of \S+\. Undo/)
  assert.equal(await visit(domain, alias), 404)
  assert.equal((await browser.post(path)).status, 404)
  const restored = await browser.after(await browser.submit(after, '/app/history/undo'))
  assert.match(restored.said.join(), /^Change undone/)
  assert.equal(await visit(domain, alias), 302)
  assert.deepEqual((await sentences(owner, link)).slice(1), [
    `deleted the address ${domain.name}/${alias} of ${domain.name}/${link.alias}`,
    `added the address ${domain.name}/${alias} to ${domain.name}/${link.alias}`,
    `created ${domain.name}/${link.alias}`,
  ])
})

test('the form of an address shows errors next to its controls, and keeps the entered values', async () => {
  const { browser } = owner
  const [link, other] = [await owner.link(), await owner.link()]
  const action = `/app/links/${link.id}/addresses`
  for (const [typed, words] of [
    [{ alias: other.alias }, /has already been taken on this domain/],
    [{ alias: 'a b' }, /write a-b/],
    [{ alias: 'x', domain_id: '99999' }, /domain does not exist/],
    [{ alias: 'x', exact: 'perhaps' }, /must be on or off/],
  ] as const) {
    const { status, page } = await browser.post(action, { domain_id: String(link.domain_id), ...typed })
    assert.equal(status, 422)
    assert.match(section(page), words)
    assert.equal(page.value('alias'), typed.alias)
    assert.ok(allOf(page.root, 'details', { open: '' }).some((each) => /Add an address/.test(textOf(each))))
  }
  const looping = await owner.link({ url: `http://${owner.domain.name}/loop` })
  const { page } = await browser.post(`/app/links/${looping.id}/addresses`, { alias: 'loop' })
  assert.match(section(page), /would be its own address/)
  assert.equal((await browser.post('/app/links/99999/addresses', { alias: 'x' })).status, 404)
})

test('a link with 20 further addresses has no form for another one', async () => {
  const link = await owner.link()
  for (let n = 0; n < 20; n++) await owner.browser.post(`/app/links/${link.id}/addresses`)
  const page = await owner.browser.open(`/app/links/${link.id}`)
  assert.match(section(page), /A link has up to 20 further addresses\./)
  assert.ok(!page.actions.includes(`/app/links/${link.id}/addresses`))
  const { status, page: refused } = await owner.browser.post(`/app/links/${link.id}/addresses`, { alias: 'more' })
  assert.equal(status, 422)
  assert.match(refused.text, /20/)
})

test('the page before the deletion of a domain names its links and further addresses, which end', async () => {
  const { browser, stored, link } = owner
  const { id, name } = await stored('/domains', { name: `${fresh('gone')}.example` })
  const there = await link({ domain_id: id })
  const here = await link()
  const ask = async () => (await browser.open(`/app/domains/${id}/delete`)).text
  assert.match(await ask(), new RegExp(`Delete ${name} and its 1 link\\?`))
  await stored(`/links/${here.id}/addresses`, { alias: 'kept', domain_id: id })
  await stored(`/links/${there.id}/addresses`, { alias: 'more', domain_id: id })
  assert.match(await ask(), new RegExp(`Delete ${name} and its 1 link and 2 further addresses\\?`))
  assert.match(await ask(), /Links on other domains stay, but lose their addresses here\./)
  const refused = (await owner.send('DELETE', `/domains/${id}`)).body.message
  assert.match(refused, /1 link and 2 further addresses of links\. .* delete the domain with them\.$/)
  await browser.post(`/app/domains/${id}/delete`, { name })
  assert.deepEqual([await visit({ name }, 'kept'), await visit(owner.domain, here.alias)], [404, 302])
})

test('an alias that changes leaves its old address, unless the box is unchecked', async () => {
  const { browser, domain } = owner
  const [kept, left] = [await owner.link({ alias: fresh('old') }), await owner.link({ alias: fresh('old') })]
  await browser.save(`/app/links/${kept.id}/edit`, { alias: `${kept.alias}-new` }, `/app/links/${kept.id}`)
  await browser.save(
    `/app/links/${left.id}/edit`,
    { alias: `${left.alias}-new`, keep_address: undefined },
    `/app/links/${left.id}`,
  )
  const status = (alias: string) => visit(domain, alias)
  assert.deepEqual([await status(kept.alias), await status(`${kept.alias}-new`)], [302, 302])
  assert.deepEqual([await status(left.alias), await status(`${left.alias}-new`)], [404, 302])
  assert.equal(
    (await sentences(owner, kept))[0],
    `changed the alias of ${domain.name}/${kept.alias}-new, and kept the old address`,
  )
  const page = await browser.open(`/app/history?record=link&record_id=${kept.id}`)
  assert.match(page.text, new RegExp(`Addresses\\s*Before: none\\s*After: ${domain.name}/${kept.alias}`))
})

test('a link can require the exact spelling, and then ignores it again', async () => {
  const { browser, domain } = owner
  const link = await owner.link({ alias: fresh('Case') })
  const save = (exact: string | undefined) =>
    browser.save(`/app/links/${link.id}/edit`, { exact }, `/app/links/${link.id}`)
  assert.match(section(await save('true')), /Exact spelling/)
  assert.equal(await visit(domain, link.alias.toLowerCase()), 404)
  assert.doesNotMatch(section(await save(undefined)), /Main address\s*Exact spelling/)
  assert.equal(await visit(domain, link.alias.toLowerCase()), 302)
})

test('links that move to another domain keep their old addresses, unless the box is unchecked', async () => {
  const { browser, domain } = owner
  const other = await owner.stored('/domains', { name: `${fresh('other')}.example` })
  for (const [keeps, status, sentence] of [
    [{}, 302, ', and kept the old address'],
    [{ keep_addresses: undefined }, 404, ''],
  ] as const) {
    const link = await owner.link()
    const form = { [`row-${link.id}`]: 'on', what: 'move', to: `domain-${other.id}` }
    const { page } = await browser.post(selected, form)
    assert.equal(page.control('keep_addresses').attributes.get('checked'), '')
    assert.match(
      (await browser.after(await browser.submit(page, selected, keeps))).said.join(),
      new RegExp(`^Moved \\S+ to ${other.name}${sentence}\\.`),
    )
    assert.deepEqual([await visit(domain, link.alias), await visit(other, link.alias)], [status, 302])
    assert.equal((await sentences(owner, link))[0], `moved ${other.name}/${link.alias} to ${other.name}${sentence}`)
  }
})

test('viewers see addresses, but no controls for them', async () => {
  const link = await owner.link()
  await add(owner, link, { alias: fresh('seen') })
  const viewer = await signedInMember(app, { account: owner.account, role: 'viewer' })
  const page = await viewer.open(`/app/links/${link.id}`)
  assert.match(section(page), /seen\d+/)
  assert.doesNotMatch(section(page), /Delete|Add an address/)
})
