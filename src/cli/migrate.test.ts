import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runHere } from '../../test/command-line.ts'
import { newDatabase as newPostgres } from '../../test/postgres-database.ts'
import { type Bench, newDatabase, type Variables } from '../../test/processes.ts'

async function emptyPostgres(t: Bench): Promise<Variables> {
  const { url, drop } = await newPostgres(false)
  t.after(drop)
  return { DATABASE_URL: url }
}

const engines: Readonly<Record<string, (t: Bench) => Variables | Promise<Variables>>> = {
  SQLite: (t) => newDatabase(t).variables,
  PostgreSQL: emptyPostgres,
}

for (const [engine, variablesOf] of Object.entries(engines)) {
  test(`waymark migrate --status says what is pending, and changes nothing: ${engine}`, async (t) => {
    const variables = await variablesOf(t)
    for (let round = 0; round < 2; round++) {
      const before = await runHere(['migrate', '--status'], { variables })
      assert.deepEqual([before.code, before.stderr], [1, ''])
      assert.match(before.stdout, /^MIGRATION +STATUS\n0001-first +pending\n/)
    }
    const { code, stderr } = await runHere(['keys', 'list'], { variables })
    assert.equal(code, 1)
    assert.match(stderr, /^There is no Waymark database at \S+ yet\. Check DATABASE_URL, or start the server once\.\n$/)
  })

  test(`waymark migrate makes the schema, once: ${engine}`, async (t) => {
    const variables = await variablesOf(t)
    for (let round = 0; round < 2; round++) {
      const { code, stdout, stderr } = await runHere(['migrate'], { variables })
      assert.deepEqual([code, stderr], [0, ''])
      assert.match(stdout, /^MIGRATION +STATUS\n0001-first +applied\n/)
    }
    const { code, stdout } = await runHere(['migrate', '--status', '--json'], { variables })
    assert.equal(code, 0)
    assert.deepEqual(JSON.parse(stdout)[0], { name: '0001-first', status: 'applied' })
    assert.equal((await runHere(['accounts', 'create', '--name', 'Acme'], { variables })).stdout, '1\n')
  })
}

test('waymark migrate refuses a file that is no database', async () => {
  const variables = { DATABASE_URL: `sqlite:${import.meta.filename}` }
  const { code, stderr } = await runHere(['migrate', '--status'], { variables })
  assert.equal(code, 1)
  assert.match(stderr, /^The file \S+ is not a database\. /)
})
