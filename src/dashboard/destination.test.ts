import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withHttps } from './scripts/destination.js'

test('adds https to a host name', () => {
  for (const text of ['acme.com', 'acme.com:8080/x?a=b#c', 'www.bücher.example', 'acme.com?q=1', '127.0.0.1']) {
    assert.equal(withHttps(text), `https://${text}`)
  }
  assert.equal(withHttps(' acme.com '), 'https://acme.com')
})

test('returns other text unchanged', () => {
  const urls = ['//acme.com', 'https://acme.com', 'mailto:ana@acme.com', 'javascript:alert(1.5)', 'data:text/html,a.b']
  for (const text of [
    ...urls,
    '',
    'summer',
    '/summer',
    'ana@acme.com',
    'localhost:4000/docs',
    'a b.com',
    'C:\\a.txt',
  ]) {
    assert.equal(withHttps(text), text)
  }
})
