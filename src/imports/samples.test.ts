/** A small file of each of the services that most people leave. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readText } from '../../test/import-files.ts'

const empty = { host: null, bots: null, losses: [], refusal: null }

test('reads both addresses in a Bitly row, the custom one first, and a total with a thousands separator', async () => {
  const { source, isCaseSensitive, rows } = await readText(
    [
      'Link,Custom Link,Date created,Title,Destination URL,Engagements,Status',
      'https://sip.example/4kQz9L,https://sip.example/Tea-Menu,2025-03-09T07:15:00+0000,Tea,https://tea.example/,"2,048",Active',
    ].join('\n'),
  )
  assert.deepEqual({ source, isCaseSensitive }, { source: 'bitly', isCaseSensitive: true })
  assert.deepEqual(rows, [
    {
      ...empty,
      line: 2,
      addresses: [
        { host: 'sip.example', path: 'Tea-Menu' },
        { host: 'sip.example', path: '4kQz9L' },
      ],
      fields: { url: 'https://tea.example/', title: 'Tea', archived: 'false' },
      created_at: '2025-03-09T07:15:00.000Z',
      clicks: 2048,
    },
  ])
})

test('reads links and visits of a YOURLS dump, without the addresses and programs of visitors', async () => {
  const { source, rows, clicks } = await readText(
    `INSERT INTO \`yrl_url\` (\`keyword\`,\`url\`,\`title\`,\`timestamp\`,\`ip\`,\`clicks\`) VALUES
('q7','https://tea.example/oolong','Oolong','2019-05-06 18:30:00','192.0.2.44',9),
('Q7','https://tea.example/sencha','It\\'s green','0000-00-00 00:00:00','',1);
INSERT INTO \`yrl_log\` (\`click_time\`,\`shorturl\`,\`referrer\`,\`user_agent\`,\`ip_address\`,\`country_code\`) VALUES
('2019-05-07 09:12:00','q7','direct','Mozilla/5.0 (X11; Linux x86_64) Firefox/128.0','192.0.2.45','AT');
`,
    { timeZone: 'Europe/Vienna' },
  )
  assert.equal(source, 'yourls')
  assert.deepEqual(rows, [
    {
      ...empty,
      line: 2,
      addresses: [{ host: null, path: 'q7' }],
      fields: { url: 'https://tea.example/oolong', title: 'Oolong' },
      created_at: '2019-05-06T16:30:00.000Z',
      clicks: 9,
    },
    {
      ...empty,
      line: 3,
      addresses: [{ host: null, path: 'Q7' }],
      fields: { url: 'https://tea.example/sencha', title: "It's green" },
      created_at: null,
      clicks: 1,
      losses: ['created_at'],
    },
  ])
  assert.deepEqual(JSON.parse(JSON.stringify(clicks)), [
    {
      address: { host: null, path: 'q7' },
      at: '2019-05-07T07:00:00.000Z',
      class: 'person',
      count: 1,
      facts: {
        countries: { AT: 1 },
        browsers: { Firefox: 1 },
        operating_systems: { Linux: 1 },
        devices: { desktop: 1 },
      },
    },
  ])
})

test('reads the limit, the end and the bot visits from a Shlink link, and names its lost rules', async () => {
  const { source, rows } = await readText(`{"shortUrls":{"data":[{"shortCode":"cup!",
 "shortUrl":"https://sip.example/cup!","longUrl":"https://tea.example/cups",
 "dateCreated":"2024-02-03T10:00:00+01:00","visitsSummary":{"total":2,"nonBots":1,"bots":1},"tags":["shop"],
 "meta":{"validSince":null,"validUntil":"2027-01-31T23:59:00+01:00","maxVisits":500},
 "domain":null,"title":null,"forwardQuery":true,"hasRedirectRules":true}]}}`)
  assert.equal(source, 'shlink')
  assert.deepEqual(rows, [
    {
      ...empty,
      line: null,
      addresses: [{ host: 'sip.example', path: 'cup!' }],
      fields: {
        url: 'https://tea.example/cups',
        tags: 'shop',
        active_period_end_at: '2027-01-31T22:59:00.000Z',
        clicks_limit: '500',
        forward_query: 'true',
      },
      created_at: '2024-02-03T09:00:00.000Z',
      clicks: 1,
      bots: 1,
      losses: ['rules'],
    },
  ])
})
