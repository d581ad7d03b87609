/** The commands on addresses, and links that are named by any of their addresses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newPlace } from '../../test/command-line.ts'
import { newBench } from '../../test/processes.ts'

const { say, run, json } = await newPlace(newBench())
await json('domains create go.acme.com')
await json('domains create old.acme.com')

test('adds, lists and deletes a link’s further addresses', async () => {
  await say('links create acme.com/summer --alias summer')
  assert.match(await say('links add-address summer --alias Sommer --exact true'), /\/\/go\.acme\.com(:\d+)?\/Sommer$/)
  const { short_url, domain_id } = await json('links add-address summer --domain old.acme.com --alias 2025')
  assert.deepEqual([short_url.replace(/:\d+/, ''), domain_id], ['http://old.acme.com/2025', 2])
  const lines = (await say('links addresses summer')).split('\n').map((line) => line.split(/ {2,}/))
  assert.deepEqual(
    lines.map((cells) => cells.slice(2)),
    [
      ['SPELLING', 'CLICKS'],
      ['exact', '0'],
      ['any case', '0'],
    ],
  )
  assert.deepEqual((await json('links addresses summer'))[1].alias, '2025')
  // Any address names the link.
  for (const name of ['Sommer', '2025', short_url, 'SUMMER']) {
    assert.equal((await json(`links show ${name}`)).alias, 'summer', name)
  }
  assert.equal((await run('links show sommer')).code, 1)
  assert.equal(await say(`links delete-address ${short_url} --yes`), `The address ${short_url} was deleted.`)
  assert.equal(
    await say('links delete-address Sommer --domain go.acme.com --yes').then((text) => text.slice(0, 11)),
    'The address',
  )
  assert.deepEqual(await json('links addresses summer'), [])
})

test('rejects invalid and taken addresses, and the main one', async () => {
  await say('links create acme.com/winter --alias winter')
  for (const [line, code, message] of [
    ['links add-address winter --alias winter', 1, /^--alias: The alias winter has already been taken/],
    ['links add-address winter --alias a+', 2, /^--alias: /],
    ['links add-address winter --domain unknown.acme.com', 1, /^--domain: The account has no domain/],
    ['links add-address nothing', 1, /^No link has the alias nothing/],
    ['links delete-address winter --yes', 1, /^winter is the main address of its link/],
    ['links qr winter --address 999', 1, /^--address: The link has no further address with the id 999/],
  ] as const) {
    const result = await run(line)
    assert.deepEqual([result.code, message.test(result.stderr)], [code, true], `${line}: ${result.stderr}`)
  }
})

test('an update keeps the old address, and makes an address exact', async () => {
  await say('links create acme.com/spring --alias spring')
  await say('links update spring --alias Lente --keep-address true --exact true')
  const link = await json('links show spring')
  assert.deepEqual([link.alias, link.exact], ['Lente', true])
  const [address] = await json('links addresses Lente')
  assert.equal(address.alias, 'spring')
  const [main, further] = [await say('links qr Lente'), await say(`links qr Lente --address ${address.id}`)]
  assert.notEqual(main, further)
})

test('the deletion of a domain names its further addresses', async () => {
  await say('links create acme.com/autumn --alias autumn --domain go.acme.com')
  await say('links add-address autumn --domain old.acme.com')
  const { code, stderr } = await run('domains delete old.acme.com --yes')
  assert.deepEqual(
    [code, stderr.trim()],
    [
      1,
      'The domain has 1 further address of a link. Delete it first, or add --links delete to delete the domain with it.',
    ],
  )
  await say('domains delete old.acme.com --links delete --yes')
  assert.deepEqual(await json('links addresses autumn'), [])
})
