import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UseOwnTool } from '../../errors.ts'
import { ownTools } from './own-tools.ts'

const url = 'postgres://way:s3cret@db.example:5433/links?sslmode=require&password=s3cret&sslpassword=s3cret'

async function commandOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof UseOwnTool)
  assert.doesNotMatch(error.message, /s3cret/)
  return error.message.split('\n').at(-1)?.trim() ?? ''
}

test('for PostgreSQL the commands of its own are named, without the password', async () => {
  const { backUp, restore, isItself } = ownTools(url)
  assert.equal(isItself('a.dump'), false)
  assert.equal(
    await commandOf(backUp("it's.dump", { mayReplace: false, onProgress: () => assert.fail() })),
    `pg_dump --format=custom --dbname='postgres://way@db.example:5433/links?sslmode=require' --file='it'\\''s.dump'`,
  )
  assert.equal(
    await commandOf(restore('a.dump', { isStopped: false, onProgress: () => assert.fail() })),
    `pg_restore --clean --if-exists --no-owner --single-transaction --dbname='postgres://way@db.example:5433/links?sslmode=require' 'a.dump'`,
  )
})
