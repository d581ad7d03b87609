import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import { withMethods } from '../../test/failing-storage.ts'
import { newPlace } from '../../test/links-api.ts'

test('builds few large lists of an account at a time, while other accounts and small lists are served', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let [held, running, most] = [0, 0, 0]
  const app = await startApp({
    storage: (real) =>
      withMethods(real, {
        list: async (listing) => {
          if (listing.account !== held || listing.limit <= 10) return real.list(listing)
          running += 1
          most = Math.max(most, running)
          await released
          running -= 1
          return real.list(listing)
        },
      }),
  })
  const [busy, other] = [await newPlace(app), await newPlace(app)]
  await busy.link({ alias: 'x' })
  held = busy.account
  const lists = Array.from({ length: 12 }, () => busy.send('GET', '/links?per_page=100'))
  const served = [busy.send('GET', '/links'), other.send('GET', '/links?per_page=100')]
  for (const list of served) assert.equal((await list).status, 200)
  release()
  for (const list of lists) assert.equal((await list).body.data.length, 1)
  assert.equal(most, 2)
})
