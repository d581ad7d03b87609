/** Random requests to both engines. Statuses, relevant headers and bodies are the same. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { query } from '../src/storage/schema.ts'
import { startApp, type TestApp } from './app.ts'
import type { Answer, Json, Request } from './client.ts'
import { newName } from './links-api.ts'
import { runs } from './runs.ts'

interface Step {
  readonly method: string
  /** `:id` is replaced by a record's id, which may be deleted, and `:newest` by the newest one. */
  readonly path: string
  /** Chooses the record. */
  readonly pick?: number
  readonly form?: string
  readonly json?: object
  readonly who: number
}

const who = fc.nat({ max: 1 })
const encoded = (fields: Record<string, string | undefined>) =>
  Object.entries(fields)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value).toWellFormed())}`)
    .join('&')

const letters = fc.constantFrom(...'aAbBeE1-._%\\ ßÉςΣıİ日💩\u{1d7d8}', 'SS', 'e\u0301')
const plainText = fc.array(letters, { maxLength: 6 }).map((all) => all.join(''))
const text = fc.oneof(
  plainText,
  fc.constantFrom('Shop', 'shop', 'SHOP', 'Shops', '\u0000', '\ud800', '\u0007', 'x'.repeat(256), '日'.repeat(255)),
)
const label = fc.constantFrom('a', 'B', 'ab', 'go', 'bücher', 'xn--bcher-kva', 'ß', '日本', 'a-', '-a', 'a_b', '*', '1')
const hostName = fc.array(label, { minLength: 1, maxLength: 2 }).map((labels) => [...labels, 'example'].join('.'))
const pick = fc.nat()
const id = fc.oneof(
  { weight: 12, arbitrary: fc.constant(':id') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...['0', '-1', '01', '1.0', 'x', '2147483648', '9007199254740991', '9007199254740992', '9223372036854775808'],
    ),
  },
)
const url = fc.constantFrom('', 'https://a.com', 'http://b.example/x?y=%25', 'ftp://x', 'https://a.com/é', 'x')

const change = fc.record(
  {
    ...{ homepage_url: url, not_found_url: url, name: fc.constantFrom('go.example', '') },
    apple_app_site_association: fc.constantFrom('', '', '{"applinks":{}}', '{"appclips": {"é": "\\u0000"}}', '{}'),
    asset_links: fc.constantFrom('', '', '[]', '[]', '[\n1]', '[{"include":"💩"}]'),
  },
  { requiredKeys: [] },
)
const space = fc.record({ name: text, color: fc.constantFrom('1', '6', '7', '', 'x') }, { requiredKeys: [] })
const listQuery = fc.record(
  {
    search: text,
    sort_by: fc.constantFrom('id', 'name', 'x'),
    sort: fc.constantFrom('asc', 'desc'),
    per_page: fc.constantFrom('10', '25', '100', '3'),
    page: fc.constantFrom('1', '2', '3', '7', '9007199254740991', '0'),
  },
  { requiredKeys: [] },
)

/** One of these values, seldom an invalid one, so that enough requests with many fields succeed. */
const mostly = (valid: readonly string[], invalid: readonly string[]) =>
  fc.oneof({ weight: 15, arbitrary: fc.constantFrom(...valid) }, fc.constantFrom(...invalid))
const reference = fc.constantFrom('1', '2', '3', '5', '9', '')
const mostlyOwn = fc.oneof({ weight: 4, arbitrary: fc.constant('') }, reference)
const time = mostly(['2020-01-01 00:00', '2200-01-01T00:00:00+01:00', ''], ['2020-02-30 00:00'])
const tagNames = mostly(['Summer', 'summer', 'Über, Old', 'old,,a b', 'ß', 'a,b,c', ''], ['x'.repeat(51)])
const spelled = ['https://bücher.example/R%C3%BCck', 'https://xn--bcher-kva.example/Rück']
const ruleUrl = fc.constantFrom(...spelled, 'https://a.com', 'ftp://x', '')
const rule = fc.record(
  {
    name: fc.oneof(text, fc.constantFrom('A', 'B', 'A 2')),
    countries: fc.constantFrom(['DE'], ['de', 'at'], ['XX'], []),
    query: fc.constantFrom({ a: '1' }, { a: null }, {}),
    hours: fc.constantFrom('09:00-17:30', '9-17'),
    url: ruleUrl,
    urls: fc.array(fc.record({ url: ruleUrl, weight: fc.constantFrom(1, 100, 0) }), { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: ['name'] },
)
// Mostly valid, so that enough requests succeed.
const rules = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('', '[]', JSON.stringify([{ name: 'A', url: spelled[0] }])) },
  fc.array(rule, { maxLength: 3 }).map((list) => JSON.stringify(list)),
  fc.constantFrom('', '[]', '[', JSON.stringify([{ name: 'A', url: spelled[0] }])),
)
const linkFields = {
  // Required, because generated aliases differ.
  alias: fc.oneof(
    text.filter((each) => each.trim() !== ''),
    fc.constantFrom('a/b', 'Sale', 'SALE', 'straße', 'STRASSE', 'robots.txt', '..', '/', '❤️', '❤'),
  ),
  url: fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom('https://a.com', 'https://SHOP.example/É?a=%25', ...spelled) },
    url,
  ),
  title: fc.oneof({ weight: 3, arbitrary: plainText }, text),
  space_id: mostlyOwn,
  disabled: mostly(['true', '0'], ['2']),
  active_period_start_at: time,
  active_period_end_at: time,
  clicks_limit: mostly(['1', ''], ['0']),
  redirect_status: mostly(['301', '308'], ['303']),
  rules,
  tags: tagNames,
  notes: fc.oneof({ weight: 3, arbitrary: plainText }, text),
  archived: mostly(['true', 'false'], ['2']),
  exact: mostly(['false', 'false', 'true'], ['2']),
}
const link = fc.record({ ...linkFields, domain_id: mostlyOwn }, { requiredKeys: ['alias', 'url', 'exact'] })
const linkChange = fc.record(linkFields, { requiredKeys: [] })
const keep_address = fc.constantFrom('true', 'false', 'x')
const address = fc.record(
  { alias: linkFields.alias, exact: linkFields.exact, domain_id: mostlyOwn },
  { requiredKeys: ['alias', 'exact'] },
)
/** In a third of the links, followed by a request for a further address. */
const linkSteps = fc
  .record({ who, link, further: fc.constantFrom(true, false, false), address })
  .map(({ who, link, further, address }): readonly Step[] => [
    { method: 'POST', path: '/links', form: encoded(link), who },
    ...(further ? [{ method: 'POST', path: '/links/:newest/addresses', form: encoded(address), who }] : []),
  ])
const addressSteps = [
  fc.record({ who, id, pick, address }).map(({ id, address, ...rest }) => ({
    ...{ method: 'POST', path: `/links/${id}/addresses`, form: encoded(address), ...rest },
  })),
  fc
    .record({ who, id, pick, method: fc.constantFrom('GET', 'DELETE'), of: fc.integer({ min: 1, max: 9 }) })
    .map(({ id, of, ...rest }) => ({ path: `/links/${id}/addresses/${of}`, ...rest })),
  fc.record({ who, id, pick }).map(({ id, ...rest }) => ({ method: 'GET', path: `/links/${id}/addresses`, ...rest })),
]
const linkQuery = fc.record(
  {
    search: fc.oneof(
      text,
      fc.constantFrom(...'é %C3%89 É?a=%25 xn--bcher-kva. BÜCHER.example/ück %C3%BCck ❤️'.split(' ')),
    ),
    search_by: fc.constantFrom('any', 'alias', 'title', 'url', 'name'),
    sort_by: fc.constantFrom('id', 'alias', 'clicks'),
    sort: fc.constantFrom('asc', 'desc'),
    domain_id: reference,
    space_id: fc.constantFrom('0', '1', '2', '5'),
    tag_id: fc.constantFrom('1', '2', '3', '1,2', '3,3', 'x'),
    archived: fc.constantFrom('true', 'false', 'any', 'x'),
    status: fc.constantFrom('active', 'scheduled', 'expired', 'disabled', 'x'),
    after: fc.constantFrom('1', '4', '9'),
  },
  { requiredKeys: [] },
)

const atomic = fc.constantFrom('', '?atomic=true')
const ids = fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 4 })
const names = fc.array(fc.constantFrom('Summer', 'OLD', 'a', 'a,b'), { maxLength: 2 })
const bulkSteps = [
  fc
    .record({ who, atomic, links: fc.array(link, { maxLength: 4 }) })
    .map(({ who, atomic, links }) => ({ method: 'POST', path: `/links/bulk${atomic}`, json: { links }, who })),
  fc
    .record({ who, atomic, ids, set: linkChange, add_tags: names, remove_tags: names })
    .map(({ who, atomic, ...json }) => ({ method: 'PATCH', path: `/links/bulk${atomic}`, json, who })),
  fc
    .record({ who, atomic, ids })
    .map(({ who, atomic, ids }) => ({ method: 'POST', path: `/links/bulk/delete${atomic}`, json: { ids }, who })),
  fc
    .record({ who, format: fc.constantFrom('csv', 'jsonl', 'x'), linkQuery })
    .map(({ who, format, linkQuery: { search, tag_id, archived } }) => {
      const asked = Object.fromEntries(
        Object.entries({ format, search, tag_id, archived }).filter(([, value]) => value !== undefined),
      )
      return { method: 'GET', path: `/links/export?${encoded(asked)}`, who }
    }),
  fc
    .record({ who, id, pick, into: reference })
    .map(({ id, into, ...rest }) => ({ method: 'POST', path: `/tags/${id}/merge`, form: encoded({ into }), ...rest })),
]

const resource = fc.constantFrom('domains', 'spaces', 'tags', 'links')
const listed = fc.constantFrom('domains', 'spaces', 'tags')
const named = fc.constantFrom('spaces', 'tags')
const steps: fc.Arbitrary<Step | readonly Step[]> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .record({ who, fields: fc.record({ name: hostName, homepage_url: url }, { requiredKeys: ['name'] }) })
      .map(({ who, fields }) => ({ method: 'POST', path: '/domains', form: encoded(fields), who })),
  },
  {
    weight: 4,
    arbitrary: fc
      .record({ who, named, fields: space })
      .map(({ who, named, fields }) => ({ method: 'POST', path: `/${named}`, form: encoded(fields), who })),
  },
  {
    weight: 2,
    arbitrary: fc.record({ who, id, pick, fields: change }).map(({ id, fields, ...rest }) => ({
      ...{ method: 'PATCH', path: `/domains/${id}`, form: encoded(fields), ...rest },
    })),
  },
  {
    weight: 3,
    arbitrary: fc.record({ who, named, id, pick, fields: space }).map(({ named, id, fields, ...rest }) => ({
      ...{ method: 'PUT', path: `/${named}/${id}`, form: encoded(fields), ...rest },
    })),
  },
  {
    weight: 7,
    arbitrary: fc
      .record({ who, resource, id, pick, method: fc.constantFrom('GET', 'HEAD', 'DELETE', 'DELETE') })
      .map(({ resource, id, ...rest }) => ({ path: `/${resource}/${id}`, ...rest })),
  },
  {
    weight: 6,
    arbitrary: fc
      .record({ who, listed, listQuery })
      .map(({ who, listed, listQuery }) => ({ method: 'GET', path: `/${listed}?${encoded(listQuery)}`, who })),
  },
  { weight: 10, arbitrary: linkSteps },
  {
    weight: 3,
    arbitrary: fc
      .record({ who, id, pick, fields: fc.record({ ...linkFields, keep_address }, { requiredKeys: [] }) })
      .map(({ id, fields, ...rest }) => ({
        ...{ method: 'PATCH', path: `/links/${id}`, form: encoded(fields), ...rest },
      })),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ who, id, pick })
      .map(({ id, ...rest }) => ({ method: 'DELETE', path: `/domains/${id}?links=delete`, ...rest })),
  },
  {
    weight: 6,
    arbitrary: fc
      .record({ who, linkQuery })
      .map(({ who, linkQuery }) => ({ method: 'GET', path: `/links?${encoded(linkQuery)}`, who })),
  },
  { weight: 5, arbitrary: fc.oneof(...bulkSteps) },
  { weight: 5, arbitrary: fc.oneof(...addressSteps) },
)

/** Returns the comparable parts of a response, without request ids, times and the addresses of the apps. */
function comparable({ status, headers, text }: Answer, { port }: TestApp) {
  const plain = (value: string | undefined) =>
    value
      ?.replaceAll(`localhost:${port}`, 'HOST')
      .replaceAll(/"request_id":"[^"]*"/g, '"request_id":""')
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
  const { link, location, vary, allow, etag } = headers
  const named = { type: headers['content-type'], cache: headers['cache-control'], retry: headers['retry-after'] }
  return {
    status,
    ...named,
    vary,
    allow,
    etag: typeof etag,
    link: plain(String(link)),
    location: plain(location),
    text: plain(text),
  }
}

test('returns the same responses on SQLite and PostgreSQL', async () => {
  const sequences = runs(36, 8)
  const [sqlite, postgres] = await Promise.all([startApp({ engine: 'sqlite' }), startApp({ engine: 'postgres' })])
  const apps = [sqlite, postgres]
  const keysOf = await Promise.all(
    apps.map(async (app) => [app.key, await app.createKey({ account: await app.createAccount() })]),
  )
  const highest: Record<string, number> = { domains: 0, spaces: 0, tags: 0, links: 0 }
  const statuses: number[] = []
  const counted = { main: 0, further: 0, exact: 0 }
  const count = (path: string, { id, exact }: Json) => {
    const isFurther = path.endsWith('/addresses')
    if (!isFurther) highest[/\w+/.exec(path)?.[0] ?? ''] = id
    if (path.startsWith('/links')) counted[isFurther ? 'further' : 'main'] += 1
    if (exact === true) counted.exact += 1
  }
  const take = async ({ method, path, pick = 0, form, json, who }: Step) => {
    const resource = /\w+/.exec(path)?.[0] ?? ''
    const newest = highest[resource] ?? 0
    const target = path.replace(':id', String(1 + (pick % (newest + 2)))).replace(':newest', String(newest))
    const [one, two] = await Promise.all(
      apps.map(async (app, index) => {
        const request: Request = {
          key: String(keysOf[index]?.[who]),
          ...(form !== undefined && { form }),
          ...(json && { json }),
        }
        return comparable(await app.send(method, `/api/v1${target}`, request), app)
      }),
    )
    assert.deepEqual(two, one, `${method} ${target} ${form ?? JSON.stringify(json)}`)
    const status = Number(one?.status)
    statuses.push(status)
    if (status === 201) count(path, JSON.parse(String(one?.text)).data)
    if (method !== 'GET' && /links|tags/.test(path)) await alignIds()
  }
  // PostgreSQL does not assign the ids of rows again that a transaction took back, such as after a rejected bulk request.
  const alignIds = async () => {
    const tables = ['links', 'tags', 'addresses'] as const
    const sequences = tables.map((table) =>
      sql<number | null>`(select seq from sqlite_sequence where name = ${table})`.as(table),
    )
    const [row] = await sqlite.storage.execute(query.selectNoFrom(sequences))
    const next = tables.map((table) => {
      highest[table] = row?.[table] ?? 0
      return sql`setval(pg_get_serial_sequence(${table}, 'id'), ${highest[table] + 1}, false)`.as(table)
    })
    await postgres.storage.execute(query.selectNoFrom(next))
  }
  const script = fc.array(steps, { minLength: 100, maxLength: 150, size: 'max' })
  const property = fc.asyncProperty(script, async (steps) => {
    for (const who of [0, 1]) await take({ method: 'POST', path: '/domains', form: `name=${newName()}`, who })
    for (const each of steps.flat()) await take(each)
  })
  await fc.assert(property, { numRuns: sequences, endOnFailure: true })
  // A sequence in which all requests succeed, or all fail, would prove nothing.
  for (const status of [200, 201, 204, 404, 409, 422]) {
    const count = statuses.filter((each) => each === status).length
    // Rare conflicts can be few by chance.
    assert.ok(count > sequences / 2, `${status}: ${count} of ${statuses.length}`)
  }
  const { main, further, exact } = counted
  assert.ok(main > sequences / 2 && further > main / 6 && exact > main / 6, JSON.stringify(counted))
})
