import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { createAccount } from '../accounts/store.ts'
import { insertDomain } from '../domains/store.ts'
import { insertSpace } from '../spaces/store.ts'
import { countLinksIn, insertLink, maxCountedLinks } from './store.ts'

const storage = await newStorage(after)
const account = (await createAccount(storage, 'Acme')).id
const other = (await createAccount(storage, 'Other')).id

async function newDomain(name: string) {
  const { record } = await insertDomain(
    storage,
    account,
    { name, nameUnicode: name },
    { homepage_url: null, not_found_url: null },
  )
  return record
}

test('links are counted by domain and by space, each up to 1,001, and only those of the account', async () => {
  const [many, none] = [await newDomain('many.example'), await newDomain('none.example')]
  const { record: space } = await insertSpace(storage, account, { name: 'Sales', color: 1 })
  const values = {
    ...{ url: 'https://acme.com', title: null, disabled: false, active_period_start_at: null },
    ...{ active_period_end_at: null, clicks_limit: null, expiration_url: null, redirect_password: null },
    ...{ forward_query: false, redirect_status: 302 },
  }
  for (let n = 0; n <= maxCountedLinks; n++) {
    const space_id = n < 2 ? space.id : null
    await insertLink(storage, account, many, { ...values, alias: `alias${n}`, space_id })
  }
  const inDomains = (owner: number) => countLinksIn(storage, owner, 'domain_id', [many.id, none.id, 99_999])
  assert.deepEqual([...(await inDomains(account))].sort(), [
    [many.id, maxCountedLinks],
    [none.id, 0],
  ])
  assert.deepEqual([...(await countLinksIn(storage, account, 'space_id', [space.id]))], [[space.id, 2]])
  assert.equal((await inDomains(other)).size, 0)
})
