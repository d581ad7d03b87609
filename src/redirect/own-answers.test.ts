import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import { shortUrls } from '../names/short-url.ts'
import { createOwnAnswers } from './explain.ts'

const app = await startApp()
const answers = createOwnAnswers(app.storage, shortUrls('http://{domain}:3080'))

const url = 'https://acme.com/'
const { id: domain_id } = await app.stored('/domains', { name: 'go.acme.com' })
const { id: lost } = await app.stored('/domains', { name: 'lost.acme.com', not_found_url: 'https://acme.com/lost' })

test('shows what the redirect server answers to people and to programs, and counts nothing', async () => {
  const links = await Promise.all([
    app.stored('/links', { domain_id, alias: 'plain', url: 'https://ACME.com/a%20b' }),
    app.stored('/links', { domain_id, alias: 'Grün/summer', url, redirect_status: 301, forward_query: true }),
    app.stored('/links', { domain_id, alias: 'limited', url, clicks_limit: 2 }),
    app.stored('/links', { domain_id, alias: 'secret', url, redirect_password: 'hunter22' }),
    app.stored('/links', { domain_id, alias: 'disabled', url, disabled: true }),
    app.stored('/links', { domain_id: lost, alias: 'disabled', url, disabled: true }),
    app.stored('/links', { domain_id, alias: 'loop', url: 'http://go.acme.com/round' }),
    app.stored('/links', { domain_id, alias: 'round', url: 'http://go.acme.com/loop' }),
    app.stored('/links', { domain_id, alias: 'ruled', url, rules: [{ name: 'All', url: 'https://acme.com/all' }] }),
    app.stored('/links', { domain_id, alias: 'ended', url, active_period_end_at: '2020-01-01T00:00:00Z' }),
  ])
  const addresses = [
    ...links.map((link) => [link.domain_id === lost ? 'lost.acme.com' : 'go.acme.com', link.alias] as const),
    ...(['missing', 'a?b', 'a#b', '100%', 'plain.'] as const).map((alias) => ['go.acme.com', alias] as const),
    ['lost.acme.com', 'missing'] as const,
    ['unknown.example', 'a'] as const,
  ]
  for (const [name, alias] of addresses) {
    const told = await answers(name, alias)
    assert.deepEqual(await answers(name, alias), told)
    for (const [at, agent] of ['Mozilla/5.0 (X11; Linux x86_64)', 'Waymark/1 (import proof bot)'].entries()) {
      const path = encodeURIComponent(alias).replaceAll('%2F', '/')
      const { status, headers } = await app.visit(`http://${name}/${path}`, { headers: { 'user-agent': agent } })
      assert.deepEqual(told[at], { status, location: headers.location ?? null }, `${name}/${alias} ${agent}`)
    }
  }
})
