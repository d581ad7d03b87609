import assert from 'node:assert/strict'
import { test } from 'node:test'
import { classifyVisit } from './browser-headers.ts'

const basic = { accept: 'text/html,*/*;q=0.8', 'accept-language': 'de' }
const fetched = { ...basic, 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
const hinted = { ...fetched, 'sec-ch-ua': '"Chromium";v="140", "Not=A?Brand";v="24", "Google Chrome";v="140"' }

const windows = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64)'
const phone = 'Mozilla/5.0 (Linux; Android 10; K)'
const iphone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)'
const webkit = 'AppleWebKit/537.36 (KHTML, like Gecko)'
const oldChrome = `${windows} ${webkit} Chrome/60.0.3112.113 Safari/537.36`

/** Browsers and the headers that they need over HTTPS to count as people. */
const browsers: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  [`${windows} ${webkit} Chrome/140.0.0.0 Safari/537.36`, hinted],
  [`${windows} ${webkit} Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0`, hinted],
  [`${windows} ${webkit} Chrome/134.0.0.0 Safari/537.36 OPR/119.0.0.0`, hinted],
  [`${phone} ${webkit} Chrome/140.0.0.0 Mobile Safari/537.36`, hinted],
  [`${phone} ${webkit} Chrome/140.0.0.0 Mobile Safari/537.36 EdgA/140.0.0.0`, hinted],
  [`${phone} ${webkit} SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36`, fetched],
  [`${windows.replace(')', '; rv:140.0)')} Gecko/20100101 Firefox/140.0`, fetched],
  ['Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0', fetched],
  [`${iphone} Version/18.6 Mobile/15E148 Safari/604.1`, fetched],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15',
    fetched,
  ],
  [`${iphone} Version/16.3 Mobile/15E148 Safari/604.1`, {}],
  // Apps on phones change what their web views send.
  [
    `Mozilla/5.0 (Linux; Android 15; Pixel 8; wv) ${webkit} Version/4.0 Chrome/140.0.0.0 Mobile Safari/537.36 Instagram 390.0`,
    {},
  ],
  [`${iphone} Mobile/15E148 [FBAN/FBIOS;FBAV/520.0]`, {}],
  [`${iphone} Mobile/15E148 Safari Line/15.1.0`, {}],
  ['', {}],
]

const now = Date.UTC(2026, 10, 28)

function classOf(userAgent: string, headers: Readonly<Record<string, string>>, isHttps = true, atMs = now) {
  return classifyVisit({ method: 'GET', headers: { ...headers, 'user-agent': userAgent }, isHttps, atMs })
}

for (const [userAgent, headers] of browsers)
  test(`person with its headers, bot without one of them: ${userAgent}`, () => {
    assert.equal(classOf(userAgent, headers), 'person')
    for (const name of Object.keys(headers)) {
      const { [name]: _, ...others } = headers
      assert.equal(classOf(userAgent, others), 'bot', name)
    }
    // Plain HTTP has no Sec- headers.
    assert.equal(classOf(userAgent, {}, false), 'person')
  })

test('bot for the user agent of a browser over five years old without Accept-Language or Accept, also over HTTP', () => {
  for (const agent of [
    oldChrome,
    `${windows.replace(')', '; rv:78.0)')} Gecko/20100101 Firefox/78.0`,
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_14_6) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.1.2 Safari/605.1.15',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 12_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
    'Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko',
    'Opera/9.80 (Windows NT 6.1) Presto/2.12.388 Version/12.16',
  ]) {
    for (const isHttps of [false, true]) assert.equal(classOf(agent, basic, isHttps), 'person', agent)
    for (const headers of [{}, { accept: '*/*' }, { 'accept-language': 'de' }])
      assert.equal(classOf(agent, headers, false), 'bot', agent)
  }
})

test('counts the age of a browser at the time of the visit', () => {
  for (const [agent, released] of [
    [`${windows} ${webkit} Chrome/140.0.0.0 Safari/537.36`, Date.UTC(2025, 8, 2)],
    [`${windows.replace(')', '; rv:140.0)')} Gecko/20100101 Firefox/140.0`, Date.UTC(2025, 5, 24)],
    [`${iphone} Version/26.0 Mobile/15E148 Safari/604.1`, Date.UTC(2025, 8, 15)],
  ] as const) {
    const year = 365.25 * 86_400_000
    assert.equal(classOf(agent, {}, false, released + 4.5 * year), 'person', agent)
    assert.equal(classOf(agent, {}, false, released + 5.5 * year), 'bot', agent)
    assert.equal(classOf(agent, basic, false, released + 50 * year), 'person', agent)
  }
})
