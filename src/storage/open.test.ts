import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UseOwnTool } from '../errors.ts'
import { backUp, restore } from './open.ts'
import type { StorageLocation } from './port.ts'

const url = 'postgres://way:s3cret@db.example:5433/links?sslmode=require&password=s3cret&sslpassword=s3cret'
const database = `--dbname='postgres://way@db.example:5433/links?sslmode=require'`

const names = (command: string) => (error: unknown) =>
  error instanceof UseOwnTool && error.message.endsWith(`:\n\n  ${command}`) && !error.message.includes('s3cret')

test("names PostgreSQL's commands, without the password", async () => {
  const location: StorageLocation = { engine: 'postgres', url, pool: 1 }
  const options = { mayReplace: false, isStopped: false, onProgress: () => undefined }
  const dump = `pg_dump --format=custom ${database} --file='it'\\''s.dump'`
  await assert.rejects(backUp(location, "it's.dump", options), names(dump))
  const back = `pg_restore --clean --if-exists --no-owner --single-transaction ${database} 'a.dump'`
  await assert.rejects(restore(location, 'a.dump', options), names(back))
})
