import assert from 'node:assert/strict'
import { test } from 'node:test'
import { list } from 'isbot'
import sections from './user-agents.test.json' with { type: 'json' }
import { classifyAgent, replacements } from './visit.ts'

const chrome =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'
const slack = 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)'

for (const [section, agents] of Object.entries(sections)) {
  for (const [agent, expected] of Object.entries<string>(agents)) {
    const [visitorClass] = expected.split(', ')
    test(`${visitorClass}, of the ${section}: ${agent}`, () => {
      assert.equal(classifyAgent('GET', agent), visitorClass)
      assert.equal(classifyAgent('GET', agent), visitorClass, 'from memory')
    })
  }
}

test('the table has 300 user agents', () => {
  const agents = Object.values(sections).flatMap((section) => Object.keys(section))
  assert.ok(agents.length >= 300)
  assert.equal(new Set(agents).size, agents.length)
})

test('replaces only patterns of isbot', () => {
  assert.deepEqual(
    Object.keys(replacements).filter((pattern) => !list.includes(pattern)),
    [],
  )
})

test('returns bot for mail scanners that name their vendor', () => {
  for (const name of [
    'Proofpoint URL Defense',
    'Mimecast',
    'BarracudaScanner/2.1',
    'Symantec Email Security',
    'TrendMicro',
  ]) {
    assert.equal(classifyAgent('GET', `Mozilla/5.0 (compatible; ${name})`), 'bot', name)
  }
})

test('returns preview for HEAD', () => assert.equal(classifyAgent('HEAD', chrome), 'preview'))

test('returns person without a user agent', () => {
  assert.equal(classifyAgent('GET', undefined), 'person')
  assert.equal(classifyAgent('GET', ''), 'person')
})

test('judges a user agent by its start', () => {
  assert.equal(classifyAgent('GET', `${chrome}${' x'.repeat(50_000)}`), 'person')
  assert.equal(classifyAgent('GET', `${slack}${' x'.repeat(50_000)}`), 'preview')
})
