/** The operator replaces the country database while the server runs. */
import assert from 'node:assert/strict'
import { renameSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { countryDatabase, fileWith } from './country-database.ts'
import { eventually, newDatabase } from './processes.ts'
import { startVisited } from './visited-server.ts'

test('writes clicks while GEOIP_DB is broken, and uses the next version', async (t) => {
  const path = fileWith(t, countryDatabase('SE'))
  const { variables } = newDatabase(t)
  const settings = { GEOIP_DB: path, TRUST_PROXY: 'on', LOG_LEVEL: 'info' }
  const server = await startVisited(t, { ...variables, ...settings })
  const domain_id = (await server.stored('/domains', { name: 'go.acme.com' })).id
  await server.stored('/links', { domain_id, alias: 'sale', url: 'https://acme.com/sale' })
  await server.stored('/links', { domain_id, alias: 'one', url: 'https://acme.com/one', clicks_limit: 1 })
  const visit = (alias: string) =>
    server.visit(`http://go.acme.com/${alias}`, { headers: { 'x-forwarded-for': '88.198.0.1' } })
  const countries = async (): Promise<{ value: string; clicks: number }[]> =>
    (await server.ask('GET', '/stats?name=countries')).body.data
  const says = (text: string) => eventually(() => server.stdout().includes(text))

  writeFileSync(path, 'garbage')
  assert.equal((await visit('one')).status, 302)
  assert.equal((await visit('sale')).status, 302)
  await eventually(async () => (await countries()).reduce((sum, { clicks }) => sum + clicks, 0) === 2)
  await says(`${path} is not a MaxMind DB file, or is truncated. Waymark uses the `)
  assert.doesNotMatch(server.stdout(), /clicks are pending/)

  writeFileSync(`${path}.new`, countryDatabase('NO'))
  renameSync(`${path}.new`, path)
  await says(`Country data reloaded from GEOIP_DB ${path}.`)
  await eventually(async () => {
    await visit('sale')
    return (await countries()).some(({ value }) => value === 'NO')
  })
  const { stdout } = await server.end('SIGTERM')
  const lines = stdout.split('\n').filter((line) => line.includes('GEOIP_DB'))
  assert.ok(lines.length <= 4, lines.join('\n'))
})
