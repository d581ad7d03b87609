/** The style of a domain's QR codes: the form, its files, and the codes of links. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findQrStyle } from '../../src/qr/store.ts'
import { startApp } from '../app.ts'
import { newOwner, type Visited } from '../dashboard.ts'

const app = await startApp()

const colors = { dark: '#0b5c6b', background: '#fff4e0', margin: '2' }
const svg =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><script>alert(1)</script><circle cx="4" cy="4" r="4"/></svg>'

type Typed = Readonly<Record<string, string | readonly File[]>>

function filledForm({ logo, ...fields }: Typed): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, String(value))
  const files = Array.isArray(logo) ? logo : [new File([], '')]
  for (const file of files) form.append('logo', file)
  return form
}

/** Returns the width of a code with its margin, in modules. */
function sideOf(image: string): number {
  return Number(/viewBox="0 0 (\d+) /.exec(image)?.[1])
}

async function place() {
  const { browser, ...own } = await newOwner(app)
  const path = `/app/domains/${own.domain.id}/qr`
  /** Sends the form as a browser does, with its files. */
  const send = async (typed: Typed) => {
    const shown = await browser.open(path)
    return browser.postFiles(path, filledForm({ ...shown.form(path), ...typed }))
  }
  const { id } = await own.link({ alias: 'sale' })
  const code = async (query = '') => (await browser.get(`/app/links/${id}/qr${query}`)).text
  const stored = () => findQrStyle(app.storage, own.account, own.domain.id)
  return { ...own, browser, path, form: send, link: id, code, stored }
}

test('every code of the domain has its colors and quiet zone immediately; the API returns plain codes', async () => {
  const { browser, path, form, code, send, link } = await place()
  const plain = (await send('GET', `/links/${link}/qr`)).text
  assert.equal(await code(), plain)
  const saved = await browser.after(await form(colors))
  assert.match(saved.said.join(), /^Set the QR code style of \S+\. Undo Dismiss$/)
  const { dark, background, margin } = saved.form(path)
  assert.deepEqual({ dark, background, margin }, colors)
  for (const text of [await code(), (await browser.get(`${path}/example`)).text]) {
    assert.match(text.slice(0, 200), /<rect [^>]*fill="#fff4e0"\/><path fill="#0b5c6b" /)
  }
  assert.equal(sideOf(await code()), sideOf(plain) - 4)
  assert.equal(sideOf(await code('?margin=4')), sideOf(plain))
  assert.equal((await send('GET', `/links/${link}/qr`)).text, plain)
  assert.ok(saved.links.includes(`${path}/reset`))
  const asked = await browser.open(`${path}/reset`)
  assert.match(asked.text, /become black on white\. Printed codes keep working\./)
  const reset = await browser.after(await browser.submit(asked, `${path}/reset`))
  assert.match(reset.said.join(), /^Removed the QR code style of \S+\. Undo Dismiss$/)
  assert.equal(reset.links.includes(`${path}/reset`), false)
  assert.equal(await code(), plain)
})

test('a logo is stored as a raster, stays when colors change, and can be replaced and removed', async () => {
  const { browser, path, link, form, code, stored } = await place()
  assert.equal((await form({ ...colors, logo: [new File([svg], 'logo.gif')] })).status, 303)
  const first = (await stored())?.logo
  assert.equal(first?.toString('latin1', 1, 4), 'PNG')
  assert.equal(first?.includes('script'), false)
  assert.match(await code('?level=L'), /<image [^>]* xlink:href="data:image\/png;base64,/)
  const { headers } = await browser.get(`/app/links/${link}/qr`)
  assert.equal(headers['content-security-policy'], "default-src 'none'; img-src data:; sandbox")
  assert.match((await browser.open(`${path}/reset`)).text, /This deletes the logo\./)
  assert.equal((await form({ dark: '#000000' })).status, 303)
  assert.deepEqual(await stored(), { dark: '#000000', background: '#fff4e0', margin: 2, logo: first })
  const other = svg.replace('circle', 'circle fill="#a00"')
  assert.equal((await form({ remove_logo: 'true', logo: [new File([other], 'x.svg')] })).status, 303)
  assert.notDeepEqual((await stored())?.logo, first)
  assert.equal((await form({ remove_logo: 'true' })).status, 303)
  assert.equal((await stored())?.logo, null)
  assert.doesNotMatch(await code(), /<image/)
})

test('accepts colors that scanners read, in lower case', async () => {
  const { form, stored } = await place()
  for (const [dark, background] of [
    ['#0B5C6B', '#FFFFFF'],
    ['#000000', '#ffff00'],
    ['#757575', '#ffffff'],
  ] as const) {
    assert.equal((await form({ dark, background, margin: '0' })).status, 303)
    const looks = { dark: dark.toLowerCase(), background: background.toLowerCase(), margin: 0 }
    assert.deepEqual(await stored(), { ...looks, logo: null })
  }
})

test('422 for colors that scanners cannot read and for other values, and asks for the file again', async () => {
  const { form, stored } = await place()
  const inverted = /^Scanners expect a dark code on a light background\. Choose a darker code color, or swap/
  const pale = (ratio: string) =>
    new RegExp(`^Scanners need a contrast of at least 4:1, and these colors have ${ratio}:1\\.`)
  const dim = /^The background is too dark for scanners\. Choose a lighter one\./
  const noColor = /^Enter a color such as #0b5c6b\./
  for (const [typed, field, sentence] of [
    [{ dark: '#ffffff', background: '#000000' }, 'dark', inverted],
    [{ dark: '#808080', background: '#808080' }, 'dark', inverted],
    [{ dark: '#cccccc' }, 'dark', pale('1\\.4')],
    [{ dark: '#ff0000', background: '#ffffff' }, 'dark', pale('3\\.9')],
    [{ dark: '#000080', background: '#a9a9a9' }, 'background', dim],
    [{ background: 'red' }, 'background', noColor],
    [{ background: '#000000"/>' }, 'background', noColor],
    [{ dark: '' }, 'dark', /^Fill in /],
    [{ margin: '4.5' }, 'margin', /must be a whole number from 0 to 10\./],
  ] as const) {
    const { status, page } = await form({ ...colors, ...typed })
    assert.deepEqual([status, page.refused], [422, [field]])
    assert.match(page.errorOf(field), sentence)
  }
  const { page } = await form({ ...colors, dark: '#cccccc', margin: '11', logo: [new File([svg], 'x.svg')] })
  assert.deepEqual(page.refused, ['margin', 'logo'])
  assert.equal(page.value('dark'), '#cccccc')
  assert.match(page.errorOf('logo'), /^Choose the file again/)
  assert.equal(await stored(), undefined)
})

test('422 for files that can’t be a logo, with the reason next to the field', async () => {
  const { form, stored, browser, path } = await place()
  const file = (bytes: number | string, name = 'x.png') =>
    new File([typeof bytes === 'string' ? bytes : Buffer.alloc(bytes, 'x')], name)
  for (const [logo, reason] of [
    [[file('')], 'The file is empty. Choose another file.'],
    [[file(256 * 1024 + 1)], 'The file is larger than 256 KB. Choose a smaller file.'],
    [[file(svg), file(svg)], 'Choose a single file.'],
    [[file(256 * 1024)], 'Choose a PNG, JPEG or SVG file.'],
    [[file('\x89PNG\r\n\x1a\n')], 'Choose a PNG, JPEG or SVG file.'],
    [
      [file('<svg>', 'x.svg')],
      'The file can’t be read as an image. Save the image again as PNG, and choose that file.',
    ],
  ] as const) {
    const { status, page } = await form({ ...colors, logo })
    assert.equal(status, 422)
    assert.ok(page.errorOf('logo').startsWith(reason), page.errorOf('logo'))
  }
  // Without a multipart body, browsers send the file name.
  const named = await browser.post(path, { ...colors, logo: 'x.png' })
  assert.match(named.page.errorOf('logo'), /^Choose a single file\./)
  assert.equal(await stored(), undefined)
})

test('400 for a broken form, 413 for a body over 1 MiB, and 403 for a form of another site', async () => {
  const { account, form, path, browser, stored } = await place()
  const headers = { 'sec-fetch-site': 'same-origin', 'content-type': 'multipart/form-data; boundary=b' }
  assert.equal((await browser.ask('POST', path, { body: '--b\r\nnonsense', headers })).status, 400)
  assert.equal((await form({ ...colors, logo: [new File([Buffer.alloc(1024 * 1024)], 'x')] })).status, 413)
  const foreign = { ...headers, 'sec-fetch-site': 'cross-site' }
  assert.equal((await browser.ask('POST', path, { body: '--b--', headers: foreign })).status, 403)
  // Other forms take no files.
  assert.equal((await browser.ask('POST', `${path}/reset`, { body: `--b\r\n%`, headers })).status, 400)
  const body = `--b\r\nContent-Disposition: form-data; name="page_account"\r\n\r\n${account}\r\n--b--`
  const empty = await browser.ask('POST', path, { body, headers })
  assert.deepEqual([empty.status, empty.page.refused], [422, ['dark', 'background', 'margin']])
  assert.equal((await browser.post(path, { ...colors, more: '1' })).status, 422)
  assert.equal(await stored(), undefined)
})

test('each change of the style is an event of the domain without the logo, which undo takes back, unless the style is the same', async () => {
  const { browser, path, form, stored, send } = await place()
  const undo = async (answer: Visited) => browser.submit(await browser.after(answer), '/app/history/undo')
  const newest = async () => (await send('GET', '/events')).body.data[0]
  await form({ ...colors, logo: [new File([svg], 'logo.svg')] })
  const [style, event] = [await stored(), await newest()]
  assert.deepEqual(
    [event.type, event.changes.qr_style[0], event.changes.qr_style[1].logo],
    ['domain.updated', null, true],
  )
  await form(colors)
  assert.equal((await newest()).id, event.id)
  await undo(await browser.post(`${path}/reset`))
  assert.deepEqual(await stored(), style)
  await undo(await form({ remove_logo: 'true' }))
  assert.deepEqual(await stored(), style)
  await browser.post('/app/history/undo', { event: String(event.id) })
  assert.equal(await stored(), undefined)
})

test('a restored domain still has its style; the API deletes both', async () => {
  const { browser, path, form, stored, domain, send, account } = await place()
  await form(colors)
  const before = await stored()
  const page = `/app/domains/${domain.id}`
  const list = await browser.after(
    await browser.submit(await browser.open(`${page}/delete`), `${page}/delete`, { name: domain.name }),
  )
  assert.equal((await browser.get(path)).status, 404)
  assert.equal((await browser.post(path, colors)).status, 404)
  await browser.submit(list, '/app/history/undo')
  assert.deepEqual(await stored(), before)
  assert.equal((await send('DELETE', `/domains/${domain.id}?links=delete`)).status, 204)
  assert.equal(await findQrStyle(app.storage, account, domain.id), undefined)
})
