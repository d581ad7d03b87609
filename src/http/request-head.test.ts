import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkHead, isHostAllowed, maxHeadBytes } from './request-head.ts'

const names = ['localhost', 'ops.internal']

for (const host of [
  ...['127.0.0.1', '127.0.0.1:9090', '192.0.2.7', '[::1]', '[2001:db8::1]:9090'],
  ...['localhost', 'localhost:9090', 'LOCALHOST', 'ops.internal', 'Ops.Internal:80'],
]) {
  test(`accepts the host ${host} for localhost and ops.internal`, () => {
    assert.equal(isHostAllowed(host, names), true)
  })
}

for (const host of [
  'example.com',
  'example.com:9090',
  'localhost.example.com',
  '127.0.0.1.example.com',
  '[localhost]',
]) {
  test(`rejects the host ${host} for localhost and ops.internal`, () => {
    assert.equal(isHostAllowed(host, names), false)
  })
}

test('accepts a client without a Host, which cannot be a browser', () => {
  assert.equal(isHostAllowed('', names), true)
})

const faultOf = (url: string, rawHeaders: string[]) => checkHead({ url, rawHeaders, httpVersion: '1.1' })?.code

test('accepts a target of 8 KiB and headers of 32 KiB, which is less than the parser accepts', () => {
  const target = `/${'a'.repeat(8 * 1024 - 1)}`
  const headers = ['x', 'y'.repeat(32 * 1024 - 1)]
  assert.equal(faultOf(target, headers), undefined)
  assert.equal(faultOf(`${target}a`, headers), 'url_too_long')
  assert.equal(faultOf(target, [...headers, 'x']), 'headers_too_large')
  assert.ok(target.length + headers.join('').length < maxHeadBytes)
})
