import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { insertLink, newDomain, plainLink, takeDomainAway } from '../../test/links.ts'
import { systemActor } from '../access/actor.ts'
import { createAccount } from '../accounts/store.ts'
import { Failure } from '../errors.ts'
import type { ListQuery } from '../forms/list-query.ts'
import { findEndingLinks, linkListQuery, linkPageRequest } from './activity.ts'
import { listLinks } from './link-list.ts'
import { findLinkDomain, type LinkDomain } from './store.ts'

const dayMs = 86_400_000
const storage = await newStorage(after)
const now = Date.now()
const timeOf = (days: number) => new Date(now + days * dayMs).toISOString()

/** Stores a link with an end and the days of its creation and last click, relative to now. */
async function store(
  account: number,
  domain: LinkDomain,
  alias: string,
  {
    end = null,
    disabled = false,
    created = 0,
    clicked = null,
    limit = null,
  }: Partial<Record<'end' | 'clicked' | 'limit', number | null>> & { disabled?: boolean; created?: number },
): Promise<void> {
  const active_period_end_at = end === null ? null : timeOf(end)
  const values = { ...plainLink, alias, disabled, active_period_end_at, clicks_limit: limit }
  const clicks = clicked === null ? 0 : 1
  const times = { created_at: timeOf(created), updated_at: timeOf(created) }
  const last_clicked_ms = clicked === null ? null : now + clicked * dayMs
  await insertLink(storage, systemActor(account), domain, values, {
    ...times,
    clicks,
    last_clicked_ms,
    bots: 0,
    previews: 0,
  })
}

async function newAccount() {
  const account = (await createAccount(storage, 'Acme')).id
  const domainOf = async (name: string) =>
    (await findLinkDomain(
      storage,
      account,
      await newDomain(storage, account, `${name}${account}.example`),
    )) as LinkDomain
  const aliases = async (query: Record<string, string>) => {
    const { rows } = await listLinks(storage, account, linkPageRequest(linkListQuery.check(query) as ListQuery))
    return rows.map(({ alias }) => alias)
  }
  return { account, domainOf, domain: await domainOf('go'), aliases }
}

test('lists idle links, and links that end soon, in any order and with other filters', async () => {
  const { account, domain, aliases } = await newAccount()
  const other = await newAccount()
  await store(other.account, other.domain, 'theirs', { created: -200, end: 1 })
  await store(account, domain, 'fresh', {})
  await store(account, domain, 'forgotten', { created: -91 })
  await store(account, domain, 'asleep', { created: -200, clicked: -91, end: 3 })
  await store(account, domain, 'busy', { created: -200, clicked: -89, end: 8 })
  await store(account, domain, 'off', { created: -10, end: 2, disabled: true })
  await store(account, domain, 'over', { created: -10, end: -2 })
  for (const [query, found] of [
    [{ status: 'idle' }, ['asleep', 'forgotten']],
    [{ status: 'idle', sort: 'asc' }, ['forgotten', 'asleep']],
    [{ status: 'idle', sort_by: 'last_clicked_at' }, ['asleep', 'forgotten']],
    [{ status: 'idle', search: 'sleep' }, ['asleep']],
    [{ status: 'ending' }, ['asleep']],
    [{ status: 'ending', sort_by: 'clicks' }, ['asleep']],
    [{ status: 'ending', domain_id: String(other.domain.id) }, []],
    [{ status: 'ending', search: `${domain.name}/asleep` }, ['asleep']],
    [{ status: 'ending', search: `${domain.name}/off` }, []],
    [{ status: 'idle', search: `${domain.name}/busy` }, []],
    [{ sort_by: 'last_clicked_at' }, ['busy', 'asleep', 'over', 'off', 'forgotten', 'fresh']],
    [{ sort_by: 'last_clicked_at', sort: 'asc' }, ['fresh', 'forgotten', 'off', 'over', 'asleep', 'busy']],
  ] as const) {
    assert.deepEqual(await aliases(query), found, JSON.stringify(query))
  }
  assert.ok(linkListQuery.check({ status: 'busy' }) instanceof Failure)
})

test('finds the enabled links that end next or ended last, only in the account', async () => {
  const { account, domain, domainOf } = await newAccount()
  const removed = await domainOf('removed')
  const stranger = await newAccount()
  await store(stranger.account, stranger.domain, 'theirs', { end: 1 })
  for (const end of [6.9, -6.9, 1, -1, 7.1, -7.1, 3, 2]) await store(account, domain, `end${end}`, { end })
  await store(account, domain, 'off', { end: 1, disabled: true })
  await store(account, domain, 'none', {})
  await store(account, removed, 'hidden', { end: 1 })
  await storage.execute(takeDomainAway({ id: removed.id, name: 'gone.example' }))
  const { ending, ended } = await findEndingLinks(storage, account, { now, dismissedAt: 0, limit: 3 })
  assert.deepEqual(namesOf(ending), [['end1', 'end2', 'end3'], 4])
  assert.deepEqual(namesOf(ended), [['end-1', 'end-6.9'], 2])
})

function namesOf({ links, total }: Awaited<ReturnType<typeof findEndingLinks>>['ending']) {
  return [links.map(({ link }) => link.alias), total]
}

test('finds the links with a used-up click limit, at the time of their last click', async () => {
  const { account, domain } = await newAccount()
  const stranger = await newAccount()
  await store(stranger.account, stranger.domain, 'theirs', { clicked: -1, limit: 1 })
  await store(account, domain, 'used-up', { clicked: -2, limit: 1 })
  await store(account, domain, 'used-up-before-its-end', { clicked: -1, limit: 1, end: 2 })
  await store(account, domain, 'used-up-and-over', { clicked: -3, limit: 1, end: -1.5 })
  await store(account, domain, 'long-ago', { clicked: -7.1, limit: 1 })
  await store(account, domain, 'left', { clicked: -1, limit: 2 })
  await store(account, domain, 'off', { clicked: -1, limit: 1, disabled: true })
  const { ending, ended } = await findEndingLinks(storage, account, { now, dismissedAt: 0, limit: 3 })
  assert.deepEqual(namesOf(ending), [[], 0])
  assert.deepEqual(namesOf(ended), [['used-up-before-its-end', 'used-up-and-over', 'used-up'], 3])
  assert.deepEqual(
    ended.links.map(({ end }) => end),
    [now - dayMs, now - 1.5 * dayMs, now - 2 * dayMs],
  )
})

test('leaves out dismissed links, unless they changed later', async () => {
  const { account, domain } = await newAccount()
  const dismissedAt = now - 3 * dayMs
  await store(account, domain, 'dismissed', { created: -10, end: 3.9 })
  await store(account, domain, 'dismissed-and-over', { created: -10, end: -1 })
  await store(account, domain, 'later', { created: -10, end: 4.1 })
  await store(account, domain, 'new', { created: -1, end: 1 })
  await store(account, domain, 'used-up-before', { created: -10, clicked: -4, limit: 1 })
  await store(account, domain, 'used-up-since', { created: -10, clicked: -2, limit: 1 })
  const { ending, ended } = await findEndingLinks(storage, account, { now, dismissedAt, limit: 3 })
  assert.deepEqual(namesOf(ending), [['new', 'later'], 2])
  assert.deepEqual(namesOf(ended), [['used-up-since'], 1])
})
