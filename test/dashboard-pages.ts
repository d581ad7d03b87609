/** All dashboard pages, and an account with data for each of them. */
import assert from 'node:assert/strict'
import { commandActor, createActor, systemActor } from '../src/access/actor.ts'
import { updateAccount } from '../src/accounts/store.ts'
import type { NewEvent } from '../src/events/event.ts'
import { recordEvents } from '../src/events/log.ts'
import { createKey } from '../src/keys/store.ts'
import { createInvitation } from '../src/members/invitations.ts'
import { storeCheck } from '../src/reachability/store.ts'
import { signInMember } from '../src/sessions/store.ts'
import type { TestApp } from './app.ts'
import type { Json } from './client.ts'
import { demoApp } from './dashboard-browser.ts'
import { addClicks, manyPeople } from './days.ts'
import { newMember } from './members.ts'

/** The batch of the changes of links with odd names. */
const batch = 'odd'

/** The longest name, without a space. */
const long = 'W'.repeat(255)

/**
 * All pages by screenshot name, for an account with 43 links and odd names. The last link is the oddest. Axe takes four times
 * as long for twice as many elements, so most pages show few rows and a short period.
 */
export const paths: Readonly<Record<string, string>> = {
  overview: '/app?period=7d',
  'overview-year': '/app?period=12m',
  countries: '/app/countries?period=7d&search=e&sort_by=value&sort=asc',
  referrer: '/app/referrers/t.co/links',
  'top-links': '/app/domains/1/top-links',
  links: '/app/links?per_page=10',
  'links-odd': '/app/links?search=odd',
  'links-none': '/app/links?search=nothing+like+it&status=expired',
  compare: '/app/links/compare?ids=1,2,43',
  'link-new': '/app/links/new',
  import: '/app/import',
  'import-plan': '/app/import/1',
  'import-result': '/app/import/2',
  'link-move': '/app/links/move?search=odd',
  link: '/app/links/1',
  'link-odd': '/app/links/43',
  'link-edit': '/app/links/43/edit',
  'link-delete': '/app/links/43/delete',
  domains: '/app/domains',
  'domain-new': '/app/domains/new',
  domain: '/app/domains/1?period=7d',
  'domain-unicode': '/app/domains/3',
  'domain-odd': '/app/domains/4',
  'domain-edit': '/app/domains/1/edit',
  'domain-delete': '/app/domains/1/delete',
  'domain-qr': '/app/domains/1/qr',
  spaces: '/app/spaces',
  'space-new': '/app/spaces/new',
  space: '/app/spaces/1?period=7d',
  'space-odd': '/app/spaces/6',
  'space-edit': '/app/spaces/6/edit',
  tags: '/app/tags',
  tag: '/app/tags/1',
  'tag-merge': '/app/tags/1/merge',
  history: '/app/history?record=space',
  'history-batch': `/app/history?batch_id=${batch}&per_page=10`,
  'history-none': '/app/history?type=tag.merged&from=2020-01-01&to=2020-02-01',
  keys: '/app/keys',
  'key-new': '/app/keys/new',
  'key-revoke': '/app/keys/1/revoke',
  people: '/app/people',
  invite: '/app/people/invite',
  member: '/app/people/1',
  'member-remove': '/app/people/1/remove',
  profile: '/app/profile',
  account: '/app/account',
  about: '/app/about',
  'not-found': '/app/nothing',
}

/** Other pages that show long names: messages, and questions about the oddest records. */
export const pathsWithLongNames: readonly string[] = [
  ...['?period=today', '/top-spaces', '/top-domains', '/countries?from=2026-02-02&to=2026-02-01', `/${long}`],
  ...['links', 'domains', 'spaces'].map((list) => `/${list}?search=${long}`),
  ...[
    `?tags=${long.slice(0, 49)}x`,
    '?tag_id=1',
    '/new?copy=41',
    '/41',
    '/41/edit',
    '/41/delete',
    '/41?period=today',
  ].map((end) => `/links${end}`),
  ...['/links/compare?ids=41,43', '/domains/4/edit', '/domains/4/delete', '/spaces/6/edit'],
  ...['/spaces/6/delete', '/tags/6', '/tags/6/edit', '/tags/6/merge', '/tags/6/delete'],
].map((path) => `/app${path}`)

/** Returns an app with that account. */
export async function fullApp(): Promise<TestApp> {
  const app = await demoApp()
  await storeOddities(app)
  return app
}

/** Stores changes of links with long values, and a change of each other kind. */
async function storeChanges({ storage, account }: TestApp, links: readonly Json[]): Promise<void> {
  const changes = links.map(
    ({ id, alias, url, tags, space_id, domain_name }): NewEvent => ({
      ...({ record: 'link', action: 'updated', id, name: `${domain_name}/${alias}` } as const),
      changes: {
        url: ['https://acme.com/', url],
        tags: [tags, ['Summer']],
        space_id: [null, space_id],
        title: [alias, null],
        archived: [false, true],
        active_period_end_at: [null, '2099-10-14T22:00:00.000Z'],
      },
    }),
  )
  const actor = createActor({ account, kind: 'member', id: null, name: 'Ana '.repeat(60), scopes: ['*'] }, null)
  await recordEvents(storage, { ...actor, batchId: batch }, changes)
  const space = { record: 'space', id: 1, name: 'Print' } as const
  await recordEvents(storage, systemActor(account), [
    { ...space, action: 'deleted', changes: { name: ['Print', null], color: [2, null] } },
  ])
  await recordEvents(storage, commandActor(account, 'root'), [
    { ...space, action: 'updated', changes: { name: ['Paper', 'Print'], color: [1, 2] } },
  ])
}

/** Stores names of the maximum length, right-to-left names and emoji. */
async function storeOddities(app: TestApp): Promise<void> {
  const { stored } = app
  const host = `${`${'w'.repeat(63)}.`.repeat(3)}${'w'.repeat(57)}.com`
  const url = `https://${host}/${'W'.repeat(1_700)}?q=`
  const { id: domain_id, name: domain } = await stored('/domains', {
    name: host,
    homepage_url: url,
    apple_app_site_association: `{"applinks":{"details":[{"appIDs":["${long}"]}]}}`,
    asset_links: '[]',
  })
  const { storage, account } = app
  await updateAccount(storage, systemActor(account), { name: long, time_zone: 'UTC' })
  const records = [{ type: 'A', name: 'go.acme.com', value: '203.0.113.7' }] as const
  await storeCheck(storage, account, 1, { answer: 'here', files: {}, records })
  await storeCheck(storage, account, domain_id, {
    answer: 'elsewhere',
    files: { '.well-known/apple-app-site-association': 'status', '.well-known/assetlinks.json': 'served' },
    records,
  })
  const member = await newMember(storage, account, { name: long, email: long })
  await signInMember(storage, member, { method: 'link', browser: 'Firefox on Linux' })
  const actor = { ...systemActor(account), kind: 'member', id: member.id, name: long } as const
  await createKey(storage, actor, { name: long, scopes: ['*'], lifetimeMs: null })
  await createInvitation(storage, actor, { role: 'viewer', name: long, email: long })
  const dates = { active_period_start_at: '2026-10-14T22:00:00Z', active_period_end_at: '2099-10-14T22:00:00Z' }
  const tags = Array.from({ length: 17 }, (_, n) => `${'W'.repeat(48)}${n + 10}`)
  const links: Json[] = []
  for (const [name, alias] of [
    [long, 'W'.repeat(128)],
    ['מבצע קיץ של החברה', 'קיץ-odd'],
    ['👩‍👩‍👧‍👦 Sommer 🏖️', '🏖️odd'],
  ] as const) {
    const { id: space_id } = await stored('/spaces', { name, color: 5 })
    const odd = {
      title: `odd ${name}`.slice(0, 255),
      tags: ['Summer', name.slice(0, 50), ...tags],
      space_id,
      domain_id,
    }
    const texts = { alias, url: url + encodeURIComponent(name), expiration_url: url, notes: 'W'.repeat(2_000) }
    links.push({ ...(await stored('/links', { ...texts, ...odd, ...dates })), domain_name: domain })
  }
  await addClicks(storage, links[0]?.id, Math.floor(Date.now() / 86_400_000), manyPeople(3, 'referrers', host))
  await storeChanges(app, links)
  await storeImports(app, domain)
}

/** Plans an import with long values and every kind of question, and applies a small one. */
async function storeImports(app: TestApp, domain: string): Promise<void> {
  const plan = async (rows: readonly string[]): Promise<number> => {
    const headers = { 'content-type': 'text/csv' }
    const body = ['short_url,url,title,tags,clicks,has_redirect_password,unknown', ...rows].join('\n')
    const { status, body: answer, text } = await app.send('POST', '/api/v1/imports', { body, headers })
    assert.equal(status, 201, text)
    return answer.data.id
  }
  await plan([
    ...['a', long, 'קיץ', '🏖️'].map(
      (alias) => `https://${domain}/${alias},https://acme.com/${long},${long},${long.slice(0, 50)},9,true,`,
    ),
    `https://${domain}/${'W'.repeat(128)},https://acme.com/other,,,,,`,
    `https://bit.ly/${long},https://acme.com,,,,,`,
    `https://${'w'.repeat(63)}.example/a,https://acme.com,,,,,`,
    `https://${domain}/b,${long},,,,,`,
  ])
  const id = await plan([
    `https://${domain}/imported,https://acme.com/,${long},,3,false,`,
    `https://${domain}/${long},no url,,,,,`,
  ])
  assert.equal((await app.send('POST', `/api/v1/imports/${id}/apply`)).status, 200)
}
