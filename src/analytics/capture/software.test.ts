import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '../../../test/characters.ts'
import { detectSoftware } from './software.ts'
import sections from './user-agents.test.json' with { type: 'json' }

const agents = Object.values(sections).flatMap((section) => Object.entries<string>(section))
const people = agents.filter(([, expected]) => expected.startsWith('person, '))
const unknown = { browser: null, operating_system: null, device: null }

for (const [agent, expected] of people) {
  test(`${expected.slice('person, '.length)}: ${agent}`, () => {
    const [, browser, operating_system, device] = expected.split(', ').map((name) => (name === '-' ? null : name))
    assert.deepEqual(detectSoftware(agent), { browser, operating_system, device })
    assert.equal(detectSoftware(agent), detectSoftware(agent), 'from memory')
  })
}

test('returns null for the browsers of programs and apps', () => {
  for (const agent of ['', 'x', 'SecretApp/1.0 (user 4711)', 'Jane Doe/1 x', 'curl/8.5.0']) {
    assert.deepEqual(detectSoftware(agent), unknown, agent)
  }
  assert.equal(detectSoftware('Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)').browser, null)
  assert.deepEqual(detectSoftware('Outlook-iOS/709.2189947.prod.iphone (3.24.0)'), {
    ...unknown,
    operating_system: 'iOS',
    device: 'mobile',
  })
})

test('accepts any text, and only reads the start of long texts', () => {
  const word = fc.constantFrom(
    'Mozilla/5.0 ',
    '(Windows NT',
    'Android ',
    'Opera/',
    'version/',
    'mac os x 1',
    'Edg/',
    '1_',
    ' ',
  )
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 600 }),
    fc.array(word).map((words) => words.join('')),
  )
  fc.assert(fc.property(text, (agent) => assert.deepEqual(Object.keys(detectSoftware(agent)), Object.keys(unknown))))
  const [[chrome] = ['']] = people
  assert.deepEqual(
    detectSoftware(`${chrome}${' Edg/131'.repeat(10_000)}`),
    detectSoftware(`${chrome}${' Edg/131'.repeat(100)}`),
  )
  assert.equal(detectSoftware(`${chrome}${' '.repeat(600)}Edg/131.0`).browser, 'Chrome')
})
