import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UseOwnTool } from '../errors.ts'
import { backupTool, restoreTool } from './open.ts'

const url = 'postgres://way:s3cret@db.example:5433/links?sslmode=require&password=s3cret&sslpassword=s3cret'
const database = `--dbname='postgres://way@db.example:5433/links?sslmode=require'`

test("names PostgreSQL's commands, without the password", () => {
  for (const [error, command] of [
    [backupTool(url, "it's.dump"), `pg_dump --format=custom ${database} --file='it'\\''s.dump'`],
    [restoreTool(url, 'a.dump'), `pg_restore --clean --if-exists --no-owner --single-transaction ${database} 'a.dump'`],
  ] as const) {
    assert.ok(error instanceof UseOwnTool)
    assert.doesNotMatch(error.message, /s3cret/)
    assert.ok(error.message.endsWith(`\n\n  ${command}`))
  }
})
