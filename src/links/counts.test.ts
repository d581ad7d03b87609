import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { newDomain as domainOf, plainLink } from '../../test/links.ts'
import { createAccount } from '../accounts/store.ts'
import { insertSpace } from '../spaces/store.ts'
import { countLinksIn, insertLink, maxCountedLinks } from './store.ts'

const storage = await newStorage(after)
const account = (await createAccount(storage, 'Acme')).id
const other = (await createAccount(storage, 'Other')).id

const newDomain = async (name: string) => ({ id: await domainOf(storage, account, name), name })

test('counts the links of an account by domain and by space, up to 1,001 each', async () => {
  const [many, none] = [await newDomain('many.example'), await newDomain('none.example')]
  const { record: space } = await insertSpace(storage, account, { name: 'Sales', color: 1 })
  for (let n = 0; n <= maxCountedLinks; n++) {
    const space_id = n < 2 ? space.id : null
    await insertLink(storage, account, many, { ...plainLink, alias: `alias${n}`, space_id })
  }
  const inDomains = (owner: number) => countLinksIn(storage, owner, 'domain_id', [many.id, none.id, 99_999])
  assert.deepEqual([...(await inDomains(account))].sort(), [
    [many.id, maxCountedLinks],
    [none.id, 0],
  ])
  assert.deepEqual([...(await countLinksIn(storage, account, 'space_id', [space.id]))], [[space.id, 2]])
  assert.equal((await inDomains(other)).size, 0)
})
