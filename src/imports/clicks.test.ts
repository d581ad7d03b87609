import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ReadFile, readText } from '../../test/import-files.ts'

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'

/** Returns the clicks as texts, with the facts as JSON. */
function shown(clicks: ReadFile['clicks']): string[] {
  return clicks.map(
    ({ address, at, class: type, count, facts }) =>
      `${address.host ?? '*'}/${address.path} ${at.slice(0, 13)} ${type} ${count} ${JSON.stringify(facts)}`,
  )
}

const yourlsUrl =
  "INSERT INTO u (keyword,url,title,timestamp,ip,clicks) VALUES ('q7','u','','2025-03-09 07:15:00','',9);\n"
const yourlsLog = 'INSERT INTO l (click_time,shorturl,referrer,user_agent,ip_address,country_code) VALUES\n'

test('adds up the visits of YOURLS by hour, in the zone of the file', async () => {
  const visits = [
    `('2025-03-09 23:10:00','q7','https://www.x.example:443/a?b','${firefox}','192.0.2.1','at')`,
    `('2025-03-09 23:50:00','q7','direct','${firefox}','192.0.2.2','')`,
    `('2025-03-10 00:10:00','q7','direct','Googlebot/2.1 (+http://www.google.com/bot.html)','192.0.2.2','US')`,
    `('2025-03-10 00:20:00','q7','https://q.example','facebookexternalhit/1.1','192.0.2.2','US')`,
    `('2025-03-10 00:30:00','Q7','','','192.0.2.2','ZZ')`,
    `('0000-00-00 00:00:00','q7','','','192.0.2.2','AT')`,
    `('never','q7','','','192.0.2.2','AT')`,
  ]
  const { clicks } = await readText(`${yourlsLog}${visits.join(',\n')};\n${yourlsUrl}`, { timeZone: 'Europe/Vienna' })
  assert.deepEqual(shown(clicks), [
    `*/q7 2025-03-09T22 person 2 ${JSON.stringify({
      countries: { AT: 1 },
      referrers: { 'www.x.example': 1 },
      browsers: { Firefox: 2 },
      operating_systems: { Linux: 2 },
      devices: { desktop: 2 },
    })}`,
    '*/q7 2025-03-09T23 bot 2 {}',
    '*/Q7 2025-03-09T23 person 1 {}',
  ])
})

test('passes clicks on before memory fills up, and counts each once', async () => {
  const visits = Array.from({ length: 9_000 }, (_, at) => `('2025-03-09 07:15:00','k${at % 4_500}','','','','AT')`)
  const { clicks } = await readText(`${yourlsUrl}${yourlsLog}${visits.join()};`, { timeZone: 'UTC' })
  assert.equal(
    clicks.reduce((sum, { count }) => sum + count, 0),
    9_000,
  )
})

test('reads the hours of Kutt: what exceeds the total is unknown', async () => {
  const columns =
    'link_id, created_at, total, br_chrome, br_ie, br_other, os_ios, os_macos, os_other, countries, referrers'
  const file = `-- PostgreSQL database dump
INSERT INTO links (id, address, target, visit_count, created_at) VALUES (3, 'a', 'u', 9, '2025-03-09 07:15:00+00');
INSERT INTO visits (${columns}) VALUES (3, '2025-03-09 07:00:00+00', 5, 2, 1, 1, 4, 2, NULL, '{"at": 3, "unknown": 1}', '{"direct": 2, "www[dot]X[dot]example": 1, "a b": 1}'),
(3, '2025-03-09 08:00:00+00', 2, NULL, NULL, NULL, NULL, NULL, NULL, 'no JSON', NULL),
(3, '2025-03-09 09:00:00+00', NULL, 1, 0, 0, 0, 0, 0, NULL, NULL),
(4, '2025-03-09 09:00:00+00', 1, 1, 0, 0, 0, 0, 0, NULL, NULL);`
  const { clicks } = await readText(file)
  assert.deepEqual(shown(clicks), [
    `*/a 2025-03-09T07 person 5 ${JSON.stringify({
      browsers: { Chrome: 2, 'Internet Explorer': 1 },
      countries: { AT: 3 },
      referrers: { 'www.x.example': 1 },
    })}`,
    '*/a 2025-03-09T08 person 2 {}',
    // The link is missing, and no link has the root.
    '*/ 2025-03-09T09 person 1 {"browsers":{"Chrome":1}}',
  ])
})

const link = {
  shortCode: 'a',
  domain: null,
  shortUrl: 'https://sip.example/a',
  longUrl: 'u',
  dateCreated: '2025-03-09',
}
const visit = { date: '2025-03-09T08:15:00+01:00', referer: '', userAgent: '', potentialBot: false }

for (const [title, isFirst] of [
  ['after', false],
  ['before', true],
] as const) {
  test(`finds the links of Shlink's visits in pages ${title} those of the links`, async () => {
    const visits = [
      { visits: { data: [{ ...visit, visitedUrl: 'https://sip.example/b?c=d', potentialBot: true }] } },
      { visits: { data: [visit, { ...visit, visitLocation: { countryCode: 'AT' } }] }, shortCode: 'a', domain: null },
      { shortCode: 'c', domain: 'other.example', visits: { data: [{ ...visit, visitedUrl: '' }], pagination: {} } },
      { visits: { data: [visit] } },
    ]
    const links = { shortUrls: { data: [link] } }
    const pages = isFirst ? [...visits, links] : [links, ...visits]
    for (const file of [JSON.stringify(pages), pages.map((page) => JSON.stringify(page)).join('\n')]) {
      const { clicks, source } = await readText(file, { timeZone: 'UTC' })
      assert.equal(source, 'shlink')
      assert.deepEqual(shown(clicks), [
        'sip.example/a 2025-03-09T07 person 2 {"countries":{"AT":1}}',
        'other.example/c 2025-03-09T07 person 1 {}',
        '*/ 2025-03-09T07 person 1 {}',
        'sip.example/b 2025-03-09T07 bot 1 {}',
      ])
    }
  })
}

test('keeps no address and no program of a visitor', async () => {
  const visits = `('2025-03-09 23:10:00','q7','https://x.example/secret','${firefox}','192.0.2.77','AT')`
  const read = await readText(`${yourlsUrl}${yourlsLog}${visits};`, { timeZone: 'UTC' })
  assert.doesNotMatch(JSON.stringify(read), /192\.0\.2\.77|Mozilla|secret/)
})

test('passes clicks of a long page on before its link is known, and names the link at its end', async () => {
  const hours = Array.from({ length: 9_000 }, (_, at) => new Date(Date.UTC(2024, 0, 1, at)).toISOString())
  const data = hours.map((date) => ({ ...visit, date }))
  const pages = [{ visits: { data }, shortCode: 'a', domain: null }, { shortUrls: { data: [link] } }]
  const { clicks } = await readText(JSON.stringify(pages), { timeZone: 'UTC' }, 65_536)
  assert.equal(clicks.length, 9_000)
  assert.deepEqual(new Set(clicks.map(({ address }) => address.path)), new Set(['a']))
})
