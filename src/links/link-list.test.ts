import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { newStorage } from '../../test/engine.ts'
import { newDomain, plainLink, takeDomainAway } from '../../test/links.ts'
import { createAccount } from '../accounts/store.ts'
import { Failure } from '../errors.ts'
import { type ListQuery, pageRequestOf } from '../forms/list-query.ts'
import { resources } from '../resources.ts'
import { findEndingLinks, linkListQuery, linkRangesOf } from './link-list.ts'
import { findLinkDomain, insertLink, type LinkDomain, listLinks } from './store.ts'

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
  }: Partial<Record<'end' | 'clicked', number | null>> & { disabled?: boolean; created?: number },
): Promise<void> {
  const values = { ...plainLink, alias, disabled, active_period_end_at: end === null ? null : timeOf(end) }
  const clicks = clicked === null ? 0 : 1
  const times = { created_at: timeOf(created), updated_at: timeOf(created) }
  const last_clicked_ms = clicked === null ? null : now + clicked * dayMs
  await insertLink(storage, account, domain, values, { ...times, clicks, last_clicked_ms, bots: 0, previews: 0 })
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
    const checked = linkListQuery.check(query) as ListQuery
    const request = { ...pageRequestOf(checked, resources.links), ranges: linkRangesOf(checked) }
    const { rows } = await listLinks(storage, account, request)
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
    [{ activity: 'idle' }, ['asleep', 'forgotten']],
    [{ activity: 'idle', sort: 'asc' }, ['forgotten', 'asleep']],
    [{ activity: 'idle', sort_by: 'last_clicked_at' }, ['asleep', 'forgotten']],
    [{ activity: 'idle', status: 'active' }, ['asleep', 'forgotten']],
    [{ activity: 'idle', status: 'disabled' }, []],
    [{ activity: 'idle', search: 'sleep' }, ['asleep']],
    [{ ends: 'soon' }, ['asleep']],
    [{ ends: 'soon', activity: 'idle', sort_by: 'clicks' }, ['asleep']],
    [{ ends: 'soon', domain_id: String(other.domain.id) }, []],
    [{ ends: 'soon', search: `${domain.name}/asleep` }, ['asleep']],
    [{ ends: 'soon', search: `${domain.name}/off` }, []],
    [{ activity: 'idle', search: `${domain.name}/busy` }, []],
    [{ sort_by: 'last_clicked_at' }, ['busy', 'asleep', 'over', 'off', 'forgotten', 'fresh']],
    [{ sort_by: 'last_clicked_at', sort: 'asc' }, ['fresh', 'forgotten', 'off', 'over', 'asleep', 'busy']],
  ] as const) {
    assert.deepEqual(await aliases(query), found, JSON.stringify(query))
  }
  assert.ok(linkListQuery.check({ activity: 'busy' }) instanceof Failure)
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
  const { ending, ended } = await findEndingLinks(storage, account, now, 3)
  const shown = ({ links, total }: typeof ending) => [links.map(({ alias }) => alias), total]
  assert.deepEqual(shown(ending), [['end1', 'end2', 'end3'], 4])
  assert.deepEqual(shown(ended), [['end-1', 'end-6.9'], 2])
})
