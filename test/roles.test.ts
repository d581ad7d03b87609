/** Every page and form of the registry with every role. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { insertPerson } from '../src/members/store.ts'
import { startApp } from './app.ts'
import type { Json } from './client.ts'
import { crawl, type FoundForm } from './crawl.ts'
import { Browser, type Form, signedInMember, type Visited } from './dashboard.ts'
import { type Furnished, furnish } from './dashboard-records.ts'
import { newestEvent } from './links-api.ts'
import { loginToken, newMember } from './members.ts'
import { isStatistics, lowestRole, type Role, rank, roles } from './operations.ts'
import { runs } from './runs.ts'

const app = await startApp()

const routes = app.router.declared.filter(
  ({ method, template }) => /^\/app(?:\/|$)/.test(template) && method !== 'HEAD',
)
/** Forms that end the session which asks. */
const endsSession = /\/(?:sign-out|end-all|sign-in|switch|join)\b/

/** Throws unless a page says that a role is missing, and which. */
function assertForbidden({ status, page }: Visited, role: Role, asked: string): void {
  assert.equal(status, 403, asked)
  assert.match(page.text, new RegExp(`It needs the role ${role}\\.`), asked)
}

interface Outcome {
  readonly isForbidden: boolean
  readonly needed: Role
  readonly asked: string
}

function assertOutcome(answer: Visited, { isForbidden, needed, asked }: Outcome): void {
  if (isForbidden) assertForbidden(answer, needed, asked)
  else assert.ok(answer.status !== 403 && answer.status < 500, `${asked}: ${answer.status}`)
}

/** Returns an account with all kinds of records. */
async function newAccount() {
  const place = await furnish(app)
  await place.stored('/tags', { name: 'Summer' })
  return place
}

/** Returns everything that forms can change. */
async function stateOf({ send }: Pick<Furnished, 'send'>): Promise<unknown> {
  const lists = ['links?archived=any', 'domains', 'spaces', 'tags', 'members', 'invitations', 'events']
  return Promise.all(lists.map(async (list) => (await send('GET', `/${list}`)).body.data))
}

test('pages and forms are forbidden for roles below that of the table, which take effect immediately', async () => {
  const place = await newAccount()
  const { account, links, space, domain } = place
  const browser = await signedInMember(app, { account, name: 'Bea' })
  await signedInMember(app, { account, name: 'Olga' })
  const [bea] = (await place.send('GET', '/members?search=bea')).body.data
  const [tag] = (await place.send('GET', '/tags')).body.data
  const { id: invitation } = await place.stored('/invitations', { role: 'viewer' })
  const key = (await app.issueKey({ account })).key.id
  const ids: Json = {
    links: links[0].id,
    domains: domain.id,
    spaces: space.id,
    tags: tag.id,
    keys: key,
    people: bea.id,
  }
  const pathOf = (template: string, id: unknown) =>
    template
      .replace(':id', String(id))
      .replace(':address_id', '1')
      .replace(':host', 'www.google.com')
      .replace('/*', '/nowhere')
  const idIn = (template: string) => {
    const [, kind = ''] = /(\w+)\/:id/.exec(template) ?? []
    return { ...ids, invitations: invitation }[kind] ?? 1
  }
  const walked = routes.filter(({ template }) => !endsSession.test(template))
  // What a viewer may see, everyone may see. Half of the pages are statistics.
  const cases = walked.flatMap((route) =>
    (isStatistics(route.template) ? roles.slice(0, 1) : roles).map((role) => ({ ...route, role })),
  )
  let current: Role = 'owner'
  const become = async (role: Role) => {
    if (role !== current) await place.send('PATCH', `/members/${bea.id}`, { json: { role } })
    current = role
  }
  const check = async ({ method, template, role }: (typeof cases)[number]) => {
    await become(role)
    const needed = lowestRole(method, template) ?? assert.fail(template)
    const asked = `${role}: ${method} ${template}`
    const [isForbidden, isPage] = [rank(role) < rank(needed), method === 'GET']
    // Unknown ids, so that the account stays as it is. They don't matter without the role.
    const path = pathOf(template, isPage || isForbidden ? idIn(template) : 99_999)
    if (isPage) return assertOutcome(await browser.get(path), { isForbidden, needed, asked })
    const before = isForbidden ? await newestEvent(place) : null
    const answer = await browser.post(path, template.endsWith('/selected') ? { what: 'compare' } : {})
    assertOutcome(answer, { isForbidden, needed, asked })
    if (before !== null) assert.deepEqual(await newestEvent(place), before, asked)
  }
  const all = fc.shuffledSubarray(cases, { minLength: cases.length })
  const inAnyOrder = fc.asyncProperty(all, async (order) => {
    for (const each of order) await check(each)
  })
  await fc.assert(inAnyOrder, { numRuns: runs(2, 1), endOnFailure: true })
})

/** Returns the lowest role for a form, by its change. */
function neededFor({ action, fields }: FoundForm, events: readonly Json[]): Role {
  if (action === '/app/links/selected') return fields.what === 'compare' ? 'viewer' : 'editor'
  if (action === '/app/history/undo') {
    const ids = (fields.events ?? fields.event ?? '').split(',')
    const undone = events.filter(({ id, batch_id }) => ids.includes(String(id)) || batch_id === fields.batch)
    assert.ok(undone.length > 0, JSON.stringify(fields))
    return undone.some(({ record }) => record === 'domain') ? 'admin' : 'editor'
  }
  const template = routes.find(
    ({ method, template }) => method === 'POST' && new RegExp(`^${template.replace(/:\w+/g, '\\d+')}$`).test(action),
  )?.template
  return lowestRole('POST', template ?? '') ?? assert.fail(action)
}

interface Person {
  readonly role: Role
  readonly browser: Browser
  /** The forms on all pages that the person can reach. */
  readonly found: readonly FoundForm[]
}

async function newPerson(account: number, role: Role): Promise<Person> {
  const browser = await signedInMember(app, { account, role, name: role })
  const { forms: found } = await crawl(app, browser, { isSkipped: isStatistics })
  return { role, browser, found }
}

/** Posts the forms that someone with a higher role has found. Returns how many there were. */
async function postForbidden(
  { role, browser }: Person,
  forms: readonly FoundForm[],
  events: readonly Json[],
  row: Form,
) {
  const forbidden = forms.filter((form) => rank(role) < rank(neededFor(form, events)))
  for (const form of forbidden) {
    const fields = { ...form.fields, ...(form.action === '/app/links/selected' && { ...row, confirmed: 'true' }) }
    const answer = await browser.post(form.action, fields)
    assertForbidden(answer, neededFor(form, events), `${role}: ${JSON.stringify(form)}`)
  }
  return forbidden.length
}

/** Posts the forms that the person has found, except forms that end anyone's access. */
async function postFound({ role, browser, found }: Person): Promise<void> {
  const posted = found.filter(({ action }) => !endsSession.test(action) && !/^\/app\/(?:people|profile)\//.test(action))
  for (const { action, fields } of posted) {
    const { status } = await browser.post(action, fields)
    assert.ok(status !== 403 && status < 500, `${role}: ${action} ${JSON.stringify(fields)}: ${status}`)
  }
}

test('pages show only controls that the role may use, and the forms of other roles are forbidden', async () => {
  const place = await newAccount()
  const { account, links, domain, space } = place
  await place.send('PATCH', `/links/${links[0].id}`, { json: { title: 'Changed' } })
  await place.send('PATCH', `/domains/${domain.id}`, { json: { homepage_url: 'https://acme.com/' } })
  await place.send('PATCH', `/spaces/${space.id}`, { json: { color: 3 } })
  await place.stored('/invitations', { role: 'viewer' })
  await app.issueKey({ account, name: 'program' })
  const people: Person[] = []
  for (const role of roles) people.push(await newPerson(account, role))
  const { data: events } = (await place.send('GET', '/events?per_page=100')).body
  for (const { role, found } of people) {
    const forOthers = found.filter((form) => rank(role) < rank(neededFor(form, events)))
    assert.deepEqual(forOthers, [], role)
  }
  const before = await stateOf(place)
  const ofOwner = people.at(-1)?.found ?? []
  const row = { [`row-${links[0].id}`]: 'on' }
  let forbidden = 0
  for (const person of people) forbidden += await postForbidden(person, ofOwner, events, row)
  assert.ok(forbidden > 100, String(forbidden))
  assert.deepEqual(await stateOf(place), before)
  // Last, because they change everything, so that some are 404 or 409 by now.
  for (const person of people) await postFound(person)
})

/** Forms about the session, which are the same in each account. */
const ofSession = /^\/app\/(?:scheme|switch|sign-out|profile\/sessions\/.*)$/

test('a form that was opened in one account and is sent in another changes nothing, and keeps its values', async () => {
  const [here, there] = [await newAccount(), await newAccount()]
  const person = await app.storage.write((tx) => insertPerson(tx, null))
  const token = await loginToken(app.storage, here.account, { person })
  await newMember(app.storage, there.account, { person })
  const browser = new Browser(app)
  await browser.post('/app/sign-in', { token })
  const { forms } = await crawl(app, browser, { isSkipped: isStatistics })
  const found = forms.filter(({ action }) => !ofSession.test(action))
  assert.ok(found.length > 60, String(found.length))
  const switchTo = (place: Furnished) => browser.post('/app/switch', { account: String(place.account) })
  await switchTo(there)
  const before = await Promise.all([here, there].map(stateOf))
  for (const { action, fields } of found) {
    const { status, page } = await browser.post(action, { ...fields, name: 'Kept' })
    assert.equal(status, 409, `${action} ${JSON.stringify(fields)}`)
    assert.match(page.heading, /^You have switched to /)
    assert.equal(page.value('name'), 'Kept')
  }
  assert.deepEqual(await Promise.all([here, there].map(stateOf)), before)

  const names = async ({ send }: Furnished) => (await send('GET', '/tags')).body.data.map(({ name }: Json) => name)
  const refused = async (name: string) => {
    await switchTo(here)
    const form = await browser.open('/app/tags/new')
    await switchTo(there)
    return (await browser.submit(form, '/app/tags', { name })).page
  }
  const back = await browser.submit(await refused('Back'), '/app/tags', { switch_to: String(here.account) })
  assert.match((await browser.after(back)).heading, /Back/)
  await browser.after(await browser.submit(await refused('Anyway'), '/app/tags'))
  assert.deepEqual(
    [await names(here), await names(there)],
    [
      ['Back', 'Summer'],
      ['Anyway', 'Summer'],
    ],
  )

  const file = new FormData()
  file.set('page_account', String(here.account))
  file.set('source', 'csv')
  file.set('file', new Blob(['url\nhttps://acme.com']), 'links.csv')
  const { status, page } = await browser.postFiles('/app/import', file)
  assert.deepEqual([status, page.value('source'), page.control('file').attributes.get('type')], [409, 'csv', 'file'])
})

for (const [kind, needed] of [
  ['links', 'editor'],
  ['spaces', 'editor'],
  ['tags', 'editor'],
  ['domains', 'admin'],
] as const) {
  test(`undoing a change of ${kind} needs the role ${needed}, alone and in a batch`, async () => {
    const place = await newAccount()
    for (const role of roles) {
      const browser = await signedInMember(app, { account: place.account, role })
      const [event] = (await place.send('GET', `/events?record=${kind.slice(0, -1)}`)).body.data
      for (const form of [{ event: String(event.id) }, { batch: event.batch_id }]) {
        const answer = await browser.post('/app/history/undo', form)
        if (rank(role) < rank(needed)) assertForbidden(answer, needed, `${role}: ${kind}`)
        else assert.ok(answer.status === 303 || answer.status === 200, answer.text)
      }
      const { undone_by } = (await place.send('GET', `/events/${event.id}`)).body.data
      if (rank(role) < rank(needed)) assert.equal(undone_by, null)
    }
  })
}

const words = (text: string) => text.trim().split(/\s+/)

/** The scopes that members of each role can give to keys, in addition to the scopes of lower roles. */
const keyScopes: Readonly<Record<Role, readonly string[]>> = {
  viewer: words('domains:read spaces:read tags:read links:read stats:read events:read members:read imports:read'),
  editor: words('spaces:write tags:write links:write imports:write'),
  admin: ['domains:write'],
  owner: ['members:write', '*'],
}
const everyScope = roles.flatMap((role) => keyScopes[role])

for (const role of ['admin', 'owner'] as const) {
  test(`members with the role ${role} create keys with the scopes of their role only`, async () => {
    const browser = await signedInMember(app, { role })
    const own = roles.slice(0, rank(role) + 1).flatMap((each) => keyScopes[each])
    const form = await browser.open('/app/keys/new')
    const offered = form
      .controls()
      .flatMap(({ attributes }) => (attributes.get('type') === 'checkbox' ? (attributes.get('name') ?? []) : []))
    assert.deepEqual(offered.toSorted(), own.toSorted())
    for (const scope of everyScope) {
      const answer = await browser.post('/app/keys', { name: scope, expires: 'never', [scope]: 'true' })
      if (own.includes(scope)) assert.equal(answer.status, 201, scope)
      else assertForbidden(answer, 'owner', scope)
    }
    assert.equal((await browser.post('/app/keys', { name: 'none', expires: 'never' })).status, 422)
  })
}
