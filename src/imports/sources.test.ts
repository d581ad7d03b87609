/** Every source in every format. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostedImports } from '../../test/hosted-imports.ts'
import { createdAt as created_at, exampleUrl as url } from '../../test/import-example.ts'
import { readText } from '../../test/import-files.ts'
import { selfHostedImports } from '../../test/self-hosted-imports.ts'

const caseSensitive = ['bitly', 'yourls', 'kutt', 'shlink', 'rebrandly']

for (const { title, source, file, options = {}, rows } of [...selfHostedImports, ...hostedImports]) {
  test(`reads a file of ${title}`, async () => {
    const read = await readText(file, options)
    assert.deepEqual([read.source, read.isCaseSensitive], [source, caseSensitive.includes(source)])
    assert.deepEqual(
      read.rows.map((row) => ({ ...row, addresses: row.addresses.map(({ host, path }) => `${host ?? '*'}/${path}`) })),
      rows.map((row) => ({
        line: null,
        host: null,
        fields: { url },
        created_at,
        clicks: null,
        bots: null,
        losses: [],
        refusal: null,
        ...row,
      })),
    )
    assert.deepEqual(await readText(file, { ...options, source }, 1), read, 'the same byte by byte, and if it is named')
  })
}
