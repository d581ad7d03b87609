/** The account page, and the time zone on pages with statistics. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../app.ts'
import { signedInMember } from '../dashboard.ts'
import { addClicks, dayWith } from '../days.ts'
import { allOf, textOf } from '../html-page.ts'
import { newPlace } from '../links-api.ts'

const app = await startApp()

async function place() {
  const own = await newPlace(app)
  const link = await own.link()
  const day = Math.floor(Date.now() / 86_400_000)
  await addClicks(app.storage, link.id, day, dayWith([{ hour: 0, kind: 'people' }]))
  return {
    ...own,
    linkId: link.id as number,
    browser: await signedInMember(app, { account: own.account, name: 'Ana' }),
  }
}

test('renames the account and sets its time zone, which every page with statistics names', async () => {
  const { browser, linkId, domain } = await place()
  const paths = ['/app', `/app/links/${linkId}`, `/app/domains/${domain.id}`]
  for (const path of paths) assert.match(textOf((await browser.open(path)).root), /Days and hours are in UTC\./)

  const page = await browser.open('/app/account')
  const options = allOf(page.root, 'option').map(textOf)
  assert.ok(options.includes('Europe/Berlin') && options.includes('Asia/Kolkata'))
  assert.equal(page.form('/app/account').time_zone, 'UTC')
  const after = await browser.save('/app/account', { name: ' Ácme & Sons ', time_zone: 'Asia/Kolkata' })
  assert.match(after.said.join(), /^Changed 2 fields of the account Ácme & Sons\./)
  const { name, time_zone } = after.form('/app/account')
  assert.deepEqual({ name, time_zone }, { name: 'Ácme & Sons', time_zone: 'Asia/Kolkata' })
  for (const path of paths) {
    const { root } = await browser.open(path)
    assert.match(textOf(root), /Days and hours are in Asia\/Kolkata, since \w{3} \d+, 20\d\d\./)
    const [menu] = allOf(root, 'div', { class: 'person' }).flatMap((found) => allOf(found, 'button'))
    assert.equal(menu && textOf(menu), 'Ana: menu')
  }
  assert.match(textOf((await browser.open('/app?period=1d')).root), /Hour \(Asia\/Kolkata\)/)
  const { text } = await browser.get(`/app/links/${linkId}/clicks.csv?period=1d&compare=none`)
  const [head, ...rows] = text.trimEnd().split('\r\n')
  assert.equal(head, '\ufeffHour (Asia/Kolkata),Clicks,Unique visitors,Bots,Previews,Time zone,Start (UTC)')
  assert.ok(rows.length > 0 && rows.every((row) => /^20[\d-]+ \d\d:\d\d,.*,Asia\/Kolkata,20[\dT:.-]+Z$/.test(row)))
})

test('returns 422 with errors next to the fields, and changes nothing', async () => {
  const { browser } = await place()
  const stored = (await browser.open('/app/account')).form('/app/account')
  for (const [field, value, message] of [
    ['time_zone', 'Mars/Olympus', /“Time zone” must be one of the listed options/],
    ['time_zone', '+02:00', /“Time zone” must be one of the listed options/],
    ['time_zone', '', /Fill in “Time zone”\./],
    ['name', '', /Fill in “Name”\./],
    ['name', 'x'.repeat(256), /at most 255 characters/],
  ] as const) {
    const { status, page } = await browser.post('/app/account', { ...stored, [field]: value })
    assert.equal(status, 422)
    assert.match(page.errorOf(field), message)
  }
  assert.deepEqual((await browser.open('/app/account')).form('/app/account'), stored)
})

test('changes only the account of the session', async () => {
  const [own, other] = [await place(), await place()]
  await own.browser.post('/app/account', { name: 'Own', time_zone: 'Asia/Tokyo' })
  const zones = [own, other].map(async ({ send }) => (await send('GET', '/stats?name=clicks')).body.meta.time_zone)
  assert.deepEqual(await Promise.all(zones), ['Asia/Tokyo', 'UTC'])
})
