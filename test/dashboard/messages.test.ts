/** Error messages on pages: they use labels and plain words, never the names and the advice of the API. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { domainLabels } from '../../src/domains/schema.ts'
import { linkLabels } from '../../src/links/schema.ts'
import { messages } from '../../src/refusal-messages.ts'
import { spaceLabels } from '../../src/spaces/schema.ts'
import { type MessageKey, Refusal } from '../../src/violations.ts'
import { startApp } from '../app.ts'
import { newOwner, type Page, signedIn } from '../dashboard.ts'
import { elementsIn, textOf } from '../html-page.ts'
import { fresh } from '../links-api.ts'

const app = await startApp()

const privateWords =
  /[_`]|\bfields?\b|\burl\b|\bparameters?\b|JSON|Content-Type|Idempotency|\?\w+=|\/api\/|\bid\b|undefined|\[object/i

function assertPlain(message: string): void {
  // "URL" in capitals is a plain word.
  assert.doesNotMatch(message.replaceAll(/\bURLs?\b/g, ''), privateWords)
  assert.match(message, /^[“\p{Lu}].*\.$/su)
}

/** A value for each parameter of the catalog that a form shows. */
const samples = { hint: 'go.acme.com', most: 1_000, least: 1, current: 'go.acme.com', record: 'domain' }
const others = {
  name: 'go.acme.com',
  alias: 'summer',
  seen: 'name',
  other: 'another one',
  formats: 'bitly, dub',
  time: 'noon',
  shortUrl: 'https://go.acme.com/summer',
  links: '2 links',
  them: 'them',
  reason: 'The key is unknown.',
  ratio: 1.9,
  cells: 9,
  names: 8,
  length: 9_000,
  cell: 2,
  schemes: 'http, https and mailto',
  value: 'Germny',
  options: 'a period such as 09:00-17:30',
  line: 3,
  column: 17,
  problem: 'unexpected }',
  shape: 'a list of statements',
  rows: 'Two rows have addresses',
}
const params = { ...samples, ...others, startLabel: linkLabels.active_period_start_at }

test('every message of the catalog has a plain sentence for forms, with every label', () => {
  const labels = [linkLabels, domainLabels, spaceLabels].flatMap((each) => Object.values(each))
  for (const key of Object.keys(messages) as MessageKey[]) {
    const refusal = new (Refusal as new (...of: readonly unknown[]) => Refusal)(key, params)
    const text = [messages[key]].flat()[1] ?? String(messages[key])
    for (const [, name = ''] of text.matchAll(/\{(\w+)\}/g))
      assert.ok(name === 'label' || name in params, `${key} needs ${name}`)
    for (const label of labels) {
      const sentence = refusal.forForm(label)
      assertPlain(sentence)
      assert.equal(sentence.includes(`“${label}”`), /\{label\}/.test(text), sentence)
    }
    assert.doesNotMatch(text, /“\{label\}”/)
    assertPlain(refusal.forForm(null))
  }
})

test('names fields as options in sentences for commands', () => {
  const say = (refusal: Refusal, field: string) =>
    refusal.forCommand(field, (name) => `--${name.replace('_id', '')}`, 'waymark')
  const pair = new Refusal('not_allowed.reference', { others: ['space_id', 'tag_id'] })
  assert.equal(say(pair, 'link_id'), 'The --link cannot be sent together with --space and --tag: send one of them.')
  assert.match(pair.at('link_id').message, /^The link_id cannot be sent together with space_id and tag_id:/)
  const unknown = new Refusal('unknown_format', { seen: 'a' })
  assert.match(say(unknown, 'source'), /Choose another --source, or --source csv with --column\.$/)
  assert.match(
    say(new Refusal('required.any_domain'), 'domain_id'),
    /Create one with "\S*.*waymark domains create NAME"\.$/,
  )
})

test('formats sentences with and without labels', () => {
  const { active_period_start_at: startLabel, active_period_end_at: end } = linkLabels
  const late = new Refusal('not_after_start', { start: ['x'], startLabel })
  assert.equal(late.forForm(end), '“Stops working on” must be after “Starts working on”.')
  const long = new Refusal('too_long.url', { most: 8_192, hint: 'x' })
  assert.equal(long.forForm(null), 'This entry must be at most 8,192 characters long.')
})

/** The text of error messages on a page, without their links to controls. */
function messagesOf(page: Page): string[] {
  const isMessage = (attributes: ReadonlyMap<string, string>) =>
    /^(error|notice failed)$/.test(attributes.get('class') ?? '')
  const shown = elementsIn(page.root).filter(({ name, attributes }) => name === 'li' || isMessage(attributes))
  return shown.map((each) => textOf(each).trim()).filter((text) => /[.]$/.test(text))
}

const long = 'x'.repeat(300)
const bad =
  `|nope|0|-1|99999|1.5|true|a b|a..b|a${'\n'}b|//acme.com|ftp://acme.com|https://|javascript:alert(1)|https://u:p@acme.com
|https://a b.example|https://acme.com/${'\u202e'}|${long}|${'x'.repeat(9_000)}|robots.txt|x+|/x|../x|TAKEN|1.2.3.4|co.uk|go.acme.com:80
|2026-02-30T10:00|2030-01-02T10:00|2029-01-02T10:00|2026-11-22|tomorrow|303|{"a":1}|${'\u0430'}pple.com|*.acme.com`.split(
    /\n?\|/,
  )

test('no dashboard form shows an API name', async () => {
  const { browser, domain, link, stored } = await newOwner(app)
  await link({ alias: 'taken' })
  const forms = ['links', 'spaces', 'domains', 'keys'].map((name) => [`/app/${name}/new`, `/app/${name}`] as const)
  const { id } = await link({ alias: 'mine' })
  await stored('/spaces', { name: `Sales on ${domain.name}` })
  const seen = new Set<string>()
  for (const [path, action] of [...forms, [`/app/links/${id}/edit`, `/app/links/${id}`] as const]) {
    const page = await browser.open(path)
    const controls = page.controls().map(({ attributes }) => attributes.get('name') ?? '')
    const names = new Set([
      ...controls.filter((name) => !/^(once|version|scheme|next|page_account)?$/.test(name)),
      'zzz',
    ])
    for (const value of bad) {
      // With the longest value in the campaign fields and in all scopes too, the form would be too large.
      const some = [...names].filter((name) => value.length < 9_000 || !/utm_|exact|keep_address|:read/.test(name))
      const typed = Object.fromEntries(some.map((name) => [name, value]))
      const answer = await browser.submit(page, action, { ...typed, once: fresh('once') })
      assert.equal(answer.status, 422, answer.text)
      const shown = messagesOf(answer.page)
      assert.ok(shown.length > 0)
      assert.doesNotMatch(answer.page.said.join(), /\bfields?\b/i)
      for (const message of shown) {
        assertPlain(message)
        seen.add(message)
      }
    }
  }
  assert.ok(seen.size > 40, [...seen].join('\n'))
})

test('no page shows an API name for an invalid query, except for the parameter in the URL', async () => {
  const browser = await signedIn(app)
  const { id } = (await app.send('POST', '/api/v1/domains', { json: { name: 'go.acme.com' } })).body.data
  for (const path of ['/app', '/app/links', '/app/domains', '/app/spaces', `/app/domains/${id}`]) {
    const queries = ['per_page=7', 'zzz=1', 'space_id=x', 'period=1y', 'from=x&to=x', 'from=2026-01-02&to=2026-01-01']
    for (const query of [...queries, 'from=2020-01-01&to=2026-01-01', 'after=1&page=2']) {
      const answer = await browser.get(`${path}?${query}`)
      if (answer.status === 200) continue
      assert.equal(answer.status, 422)
      for (const message of [...messagesOf(answer.page), ...answer.page.said])
        assert.doesNotMatch(message, privateWords)
      const own = query.split('&').flatMap((parameter) => [parameter, parameter.replace(/=.*/, '')])
      const others = own.reduce((text, each) => text.replaceAll(each, ''), answer.page.text)
      assert.doesNotMatch(others, /per_page|space_id|zzz/)
    }
  }
})
