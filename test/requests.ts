/** A valid request for each operation of the API, from the registry of changes. */
import assert from 'node:assert/strict'
import type { Operation } from '../src/api/operations.ts'
import { operations } from '../src/app/operations.ts'
import type { TestApp } from './app.ts'
import { type Change, changes, type Prepared } from './changes.ts'
import type { Request } from './client.ts'
import { Browser } from './dashboard.ts'
import type { Place } from './links-api.ts'

interface ValidRequest {
  /** After `/api/v1`, with the ids of records. */
  readonly path: string
  /** Starts with a question mark, unless it is empty. */
  readonly query: string
  readonly request: Request
}

const findChange = (id: string): Change | undefined =>
  changes.find(({ operation }) => operation === id.replace(/ByPut$/, ''))

/** Returns the change whose records an operation needs. An operation that reads a record needs what a change of it needs. */
function findNeededChange({ id, path }: Pick<Operation, 'id' | 'path'>): Change | undefined {
  const [record] = /^\/\w+\/:id(?:\/addresses\/:address_id)?/.exec(path) ?? []
  const writers = operations.filter((each) => record !== undefined && each.path.startsWith(record))
  return findChange(id) ?? writers.flatMap((each) => findChange(each.id) ?? [])[0]
}

/** Stores what an operation needs in an account. Returns a valid request. */
export async function prepareRequest(app: TestApp, place: Place, operation: Operation): Promise<ValidRequest> {
  const at = { ...place, app, browser: new Browser(app), say: () => assert.fail('No command runs.') }
  const { id = 1, address_id, json, query }: Partial<Prepared> = (await findNeededChange(operation)?.prepare(at)) ?? {}
  const path = operation.path.replace(':id', String(id)).replace(':address_id', String(address_id))
  if (operation.file !== undefined) {
    const file = { body: 'url\nhttps://acme.com\n', headers: { 'content-type': 'text/csv' } }
    return { path, query: '', request: file }
  }
  const request = operation.body === undefined || json === undefined ? {} : { json }
  return { path, query: operation.id === 'showStats' ? '?name=clicks' : (query ?? ''), request }
}
