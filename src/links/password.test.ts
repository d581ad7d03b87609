import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSemaphores } from '../app/semaphores.ts'
import { Failure } from '../errors.ts'
import { hashPassword, verifyPassword } from './password.ts'

test('hashes a password to an argon2id PHC string with a random salt', async () => {
  const [one, other] = await Promise.all([hashPassword('swordfish'), hashPassword('swordfish')])
  assert.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z\d+/]{22}\$[A-Za-z\d+/]{43}$/)
  assert.notEqual(one, other)
})

test('the same password verifies, however its letters are composed, and no other does', async () => {
  const stored = await hashPassword('Zoë 💩')
  for (const password of ['Zoë 💩', 'Zoe\u0308 💩']) assert.equal(await verifyPassword(password, stored), true)
  for (const password of ['zoë 💩', 'Zoe 💩', '', 'Zoë 💩 '])
    assert.equal(await verifyPassword(password, stored), false)
})

test('verifies a string of another tool with other parameters', async () => {
  // Made with `echo -n password | argon2 somesalt -id -t 2 -m 16 -p 1`, which is in the tests of the reference implementation.
  const stored = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc'
  assert.equal(await verifyPassword('password', stored), true)
  assert.equal(await verifyPassword('Password', stored), false)
})

test('throws for a malformed string', async () => {
  await assert.rejects(verifyPassword('a', 'swordfish'), /not an argon2id PHC string/)
})

test('rejects with overloaded above the queue limit, and verifies the queued passwords', async () => {
  const stored = await hashPassword('a')
  const { hashes } = createSemaphores()
  const verifyNext = () => hashes.run(() => verifyPassword('a', stored), 'test')
  const outcomes = await Promise.allSettled(Array.from({ length: 40 }, verifyNext))
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
  assert.equal(refused.length, 40 - 34)
  for (const { reason } of refused) assert.equal(reason instanceof Failure && reason.code, 'overloaded')
  assert.ok(outcomes.every((outcome) => outcome.status === 'rejected' || outcome.value))
})
