import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shortUrls } from '../names/short-url.ts'
import { emptyDay, other } from './day.ts'
import { csvHead, csvRows } from './transfer.ts'

const shortUrl = shortUrls('http://{domain}:3080')

test('has a row for each rule and for the link’s URL, if a rule decided a click', () => {
  const facts = emptyDay()
  facts.hours.set(1, { people: 3, unique: 3, bots: 0, previews: 0 })
  facts.breakdowns.rules.set('=Test 2', 2).set(null, 1)
  const rows = csvRows({ link: 7, domain: 'go.acme.com', alias: 'a', day: 20_000, facts }, shortUrl, 'UTC')
  assert.deepEqual(rows.split('\r\n').slice(1), [
    "2024-10-04,http://go.acme.com:3080/a,7,rules,'=Test 2,2,,,,UTC",
    '2024-10-04,http://go.acme.com:3080/a,7,rules,(none),1,,,,UTC',
    '',
  ])
})

test('has a row for the total and for each value, with brackets around unknown and other values', () => {
  const facts = emptyDay()
  facts.hours.set(1, { people: 2, unique: 1, bots: 3, previews: 0 })
  facts.hours.set(2, { people: 1, unique: 1, bots: 0, previews: 4 })
  facts.breakdowns.countries.set('DE', 2).set(null, 1)
  facts.breakdowns.referrers.set('t.co', 2).set(other, 1)
  facts.breakdowns.rules.set(null, 3)
  const rows = csvRows({ link: 7, domain: 'go.acme.com', alias: 'a,"b"', day: 20_000, facts }, shortUrl, 'UTC')
  const start = '2024-10-04,"http://go.acme.com:3080/a,%22b%22",7'
  assert.deepEqual((csvHead + rows).split('\r\n'), [
    'day,short_url,link_id,dimension,value,clicks,unique_clicks,bots,previews,time_zone',
    `${start},total,,3,2,3,4,UTC`,
    `${start},countries,DE,2,,,,UTC`,
    `${start},countries,(unknown),1,,,,UTC`,
    `${start},referrers,t.co,2,,,,UTC`,
    `${start},referrers,(other),1,,,,UTC`,
    '',
  ])
})
