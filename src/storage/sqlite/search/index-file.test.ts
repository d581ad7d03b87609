import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listDomains } from '../../../domains/store.ts'
import { listSpaces } from '../../../spaces/store.ts'
import type { Db, Listing, Page } from '../../port.ts'
import { searchedText } from '../ordering.ts'
import { indexedTexts } from './index-file.ts'

test('what is indexed of a record is what its store says is searched', async () => {
  const searched: Record<string, string> = {}
  const list = async <Row>({ of }: Listing<Row>): Promise<Page<Row>> => {
    searched[of.table] = searchedText(of)
    return { rows: [], total: 0, totalIsExact: true }
  }
  const db = { list } as Db
  const listing = { search: 'a', sortBy: 'id', direction: 'asc', limit: 10, offset: 0 } as const

  await Promise.all([listDomains(db, 1, listing), listSpaces(db, 1, listing)])

  assert.deepEqual(searched, indexedTexts)
})
