import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newPlace } from '../../test/command-line.ts'

const rules = [
  { name: 'Germany', countries: ['DE', 'AT'], languages: ['de'], url: 'https://acme.com/de' },
  { name: 'Ad', query: { ref: null }, from: '2026-01-01T00:00:00Z', url: 'https://acme.com/ad' },
  {
    name: 'Test',
    devices: ['mobile', 'tv'],
    urls: [1, 2].map((weight) => ({ url: 'https://acme.com/test', weight })),
  },
]

async function placeWith(t: TestContext, options = '') {
  const place = await newPlace(t)
  await place.say('domains create go.acme.com')
  await place.say(`links create https://acme.com/ --alias Summer ${options}`)
  return { ...place, explain: (options = '') => place.say(`links explain go.acme.com/summer ${options}`) }
}

const withRules = `--rules '${JSON.stringify(rules)}' --forward-query true`
const iphone = `--user-agent 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Version/18.5 Mobile/15E148 Safari/604.1'`

test('explain prints the destination, what decided, and the conditions of each rule that failed', async (t) => {
  const { explain, say } = await placeWith(t, withRules)
  const checks = (text: string) => text.replaceAll(/ {2,}/g, '|')
  assert.equal(
    checks(await explain('--country de --accept-language de-AT --at 2025-12-31T00:00:00Z')),
    [
      'Redirects to https://acme.com/de (302).',
      'Decided by rule 1, Germany.',
      '',
      'RULE|RESULT',
      'Germany|matches',
      'Ad|not true: the query has ref; the time is from Jan 1, 2026, 00:00 UTC',
      'Test|not true: the device is mobile or TV',
    ].join('\n'),
  )
  assert.match(
    checks(await explain(`--query ref=a ${iphone}`)),
    /^Redirects to https:\/\/acme\.com\/ad\?ref=a \(302\)\.\nDecided by rule 2, Ad\.\n\nRULE\|RESULT\nGermany\|not true: the country is Germany or Austria; the language is German\nAd\|matches\nTest\|matches$/,
  )
  assert.match(await explain(iphone), /\nDecided by rule 3, Test, which drew its destination [12]\.\n/)
  assert.match(
    await explain(),
    /^Redirects to https:\/\/acme\.com\/ \(302\)\.\nNo rule matches: visitors get the URL of the link\.\n/,
  )
  assert.match(
    await say('links explain summer --user-agent Googlebot'),
    /\nBots and previews get the URL of the link\.\n/,
  )
})

test('explain --json prints the explanation, and counts nothing', async (t) => {
  const { json } = await placeWith(t, withRules)
  const { rule, status, checks } = await json('links explain summer --country DE --accept-language de')
  assert.deepEqual([rule, status, checks.length], ['Germany', 302, 3])
  assert.equal((await json('links show summer')).clicks, 0)
})

for (const [options, expected] of [
  ['', 'Redirects to https://acme.com/ (302).'],
  ['--redirect-password secret', 'Asks for the password (401).'],
  ['--clicks-limit 1', 'Shows the preview of the link (200).'],
  ['--active-period-end-at 2026-01-01T00:00:00Z', 'Says that the link has expired (410).'],
  [
    '--active-period-end-at 2026-01-01T00:00:00Z --expiration-url acme.com/over',
    'Redirects to https://acme.com/over (302), because the link has expired.',
  ],
  [
    '--disabled true',
    'Says that there is no such link, because the link is disabled or not active yet, or redirects to itself (404).',
  ],
] as const) {
  test(`explain prints only "${expected}" for a link without rules`, async (t) => {
    const { explain } = await placeWith(t, options)
    assert.equal(await explain(), expected)
  })
}

test('explain writes times in the zone of the account', async (t) => {
  const { say } = await newPlace(t)
  await say('accounts create --name Tokyo --time-zone Asia/Tokyo')
  await say('domains create go.tokyo.example --account 2')
  const rules = JSON.stringify([{ name: 'Ad', from: '2201-01-01T00:00:00Z', url: 'https://acme.com/ad' }])
  await say(`links create https://acme.com/ --alias summer --rules '${rules}' --account 2`)
  assert.match(await say('links explain summer --account 2'), /the time is from Jan 1, 2201, 09:00 GMT\+9$/)
})

test('explain names the not-found URL of the domain', async (t) => {
  const { explain, say } = await placeWith(t, '--disabled true')
  await say('domains update go.acme.com --not-found-url acme.com/lost')
  assert.equal(
    await explain(),
    'Redirects to https://acme.com/lost (302), because the link is disabled or not active yet.',
  )
})

test('explain returns 2 for invalid options, and 1 for an unknown link', async (t) => {
  const { fails } = await placeWith(t)
  await fails(
    'links explain summer --country Germany --at tomorrow',
    2,
    /^--country: The country must be an ISO 3166-1 country code such as DE\.\n--at: /,
  )
  await fails(
    'links explain winter',
    1,
    'No link has the alias winter. To see all links, run "npx waymark links list".',
  )
})
