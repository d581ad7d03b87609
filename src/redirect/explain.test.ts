/** Compares what `explain` says with the responses of the redirect server, for random links, rules and visitors. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { runs } from '../../test/runs.ts'
import { createAccount } from '../accounts/store.ts'
import { browsers, devices, operatingSystems } from '../analytics/capture/names.ts'
import { explanationKinds } from '../rules/explanation.ts'

const app = await startApp({ countryHeader: 'cf-ipcountry' })
const agent = new Agent({ keepAlive: true })
after(() => agent.destroy())

const known: Json = JSON.parse(
  readFileSync(new URL('../analytics/capture/user-agents.test.json', import.meta.url), 'utf8'),
)
const userAgents = ['', ...Object.values<object>(known).flatMap((group) => Object.keys(group))]
const countries = ['DE', 'AT', 'FR', 'US']
const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Pacific/Apia']

/** For each zone, domains with and without a page for unknown links. */
const places = await Promise.all(
  zones.flatMap((zone) =>
    [null, 'https://acme.com/lost'].map(async (not_found_url, at) => {
      const { id: account } = await createAccount(app.storage, zone, zone)
      const key = await app.createKey({ account })
      const name = `${zone.toLowerCase().replaceAll(/[^a-z]/g, '-')}-${at}.example`
      await app.stored('/domains', { name, not_found_url }, key)
      return { key, name }
    }),
  ),
)

/** Times around changes of daylight saving time, starts of days and ends of periods. */
const times = fc
  .tuple(
    fc.constantFrom(
      '2026-03-29T01:00Z',
      '2026-10-25T01:00Z',
      '2026-03-08T07:00Z',
      '2026-11-01T06:00Z',
      '2026-04-04T15:00Z',
      '2026-06-17T00:00Z',
    ),
    fc.oneof(fc.integer({ min: -26 * 60, max: 26 * 60 }), fc.constantFrom(0, -1, 60)),
  )
  .map(([near, minutes]) => Date.parse(near) + minutes * 60_000)
const timeTexts = times.map((ms) => new Date(ms).toISOString())
const clock = fc
  .tuple(fc.integer({ min: 0, max: 23 }), fc.constantFrom('00', '30', '59'))
  .map(([h, m]) => `${String(h).padStart(2, '0')}:${m}`)
const some = <T>(...values: readonly T[]) =>
  fc.subarray([...values], { minLength: 1, maxLength: Math.min(4, values.length) })
const rarely = <T, const F>(value: fc.Arbitrary<T>, otherwise: F) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(otherwise) }, { weight: 1, arbitrary: value })

const anyConditions = fc.record(
  {
    countries: some(...countries),
    languages: some('de', 'pt-BR', 'en', '*', 'he'),
    devices: some(...devices),
    operating_systems: some(...operatingSystems),
    browsers: some(...browsers),
    query: fc.constantFrom<Record<string, string | null>>({ a: '1' }, { a: null }, { a: '1', b: 'ä' }, { b: '' }),
    from: timeTexts,
    until: timeTexts,
    weekdays: some(1, 2, 3, 4, 5, 6, 7),
    hours: fc
      .tuple(clock, fc.oneof(clock, fc.constant('24:00')))
      .filter(([start, end]) => start !== end)
      .map((hours) => hours.join('-')),
  },
  { requiredKeys: [] },
)
const names = [
  'countries',
  'languages',
  'devices',
  'operating_systems',
  'browsers',
  'query',
  'from',
  'until',
  'weekdays',
  'hours',
] as const

/** Few conditions, so that rules match often. `variants` is 0 for a single URL. */
const anyRule = fc.record({
  conditions: fc
    .tuple(anyConditions, fc.subarray([...names], { maxLength: 2 }))
    .map(([all, used]) => Object.fromEntries(Object.entries(all).filter(([name]) => used.includes(name as never)))),
  variants: rarely(fc.integer({ min: 2, max: 4 }), 0),
  returns: rarely(fc.constant(true), false),
})

const anyLink = fc.record({
  place: fc.constantFrom(...places),
  rules: fc.array(anyRule, { maxLength: 6 }),
  redirect_status: fc.constantFrom(302, 307),
  fields: fc.record({
    forward_query: fc.boolean(),
    disabled: rarely(fc.constant(true), false),
    redirect_password: rarely(fc.constant('a'), null),
    clicks_limit: rarely(fc.integer({ min: 1, max: 2 }), null),
    active_period_start_at: rarely(timeTexts, null),
    active_period_end_at: rarely(timeTexts, null),
    expiration_url: rarely(fc.constant('https://acme.com/over?x=1'), null),
  }),
})

const anyVisitor = fc.record({
  country: fc.constantFrom('', ...countries, 'JP'),
  user_agent: fc.constantFrom(...userAgents),
  accept_language: fc.constantFrom('', 'de', 'de-AT,en;q=0.9', 'pt-br', 'en;q=0.5,pt', 'iw', '*', 'zz,,;q=2'),
  query: fc.constantFrom('', 'a=1', 'a=2&a=1', 'b=%C3%A4&a=1', 'utm_source=x', '=', 'b', '&&'),
  at: times,
})

type Visitor = typeof anyVisitor extends fc.Arbitrary<infer T> ? T : never
type Link = typeof anyLink extends fc.Arbitrary<infer T> ? T : never

/** Returns the JSON of a rule. Each of its destinations has a path of its own. */
function ruleJson({ conditions, variants, returns }: Link['rules'][number], at: number, detour: string) {
  const { from, until, ...others } = conditions
  const isEmptyPeriod = from !== undefined && until !== undefined && String(from) >= String(until)
  const urls = Array.from({ length: variants }, (_, variant) => ({
    url: `https://acme.com/${at}/${variant + 1}#f`,
    weight: variant + 1,
  }))
  const destination = variants > 0 ? { urls } : { url: returns ? detour : `https://acme.com/${at}` }
  return { name: `r${at}`, ...(isEmptyPeriod ? { ...others, from } : conditions), ...destination }
}

/** All cases take ten minutes. */
const timeout = 1_800_000
let made = 0

/** Stores the link, and one that redirects back to it. */
async function stored({ place, rules: all, redirect_status, fields }: Link) {
  // A loop uses no click, so the redirect server may not know yet that the limit is reached.
  const rules = all.map((rule) => ({ ...rule, returns: rule.returns && fields.clicks_limit === null }))
  made += 1
  const alias = `link-${made}`
  const url = `http://${place.name}:3080/${alias}`
  const { active_period_start_at: start, active_period_end_at: end } = fields
  const json = {
    ...{ ...fields, alias, url: 'https://acme.com/start', redirect_status },
    active_period_end_at: start !== null && end !== null && start >= end ? null : end,
    rules: rules.map((rule, at) => ruleJson(rule, at, `${url}-detour`)),
  }
  if (rules.some(({ returns }) => returns)) await app.stored('/links', { alias: `${alias}-detour`, url }, place.key)
  return { id: (await app.stored('/links', json, place.key)).id, url }
}

interface Outcome {
  readonly status: number
  readonly location: string | null
  readonly rule: string | null
  readonly hasVariant: boolean
}

/** Returns what the location says about the rule. Which variant was drawn is left out, because draws differ. */
function outcomeOf(status: number, location: string | null, rules: Link['rules']): Outcome {
  const [, rule, variant] = /^https:\/\/acme\.com\/(\d+)(?:\/(\d))?(?:[?#]|$)/.exec(location ?? '') ?? []
  if (rule === undefined) return { status, location, rule: null, hasVariant: false }
  const variants = rules[Number(rule)]?.variants ?? 0
  assert.ok(
    variants === 0 ? variant === undefined : Number(variant) >= 1 && Number(variant) <= variants,
    String(location),
  )
  const shared = String(location).replace(`/${rule}/${variant}`, `/${rule}/N`)
  return { status, location: shared, rule: `r${rule}`, hasVariant: variants > 0 }
}

async function explained(key: string, id: number, { at, ...visitor }: Visitor): Promise<Json> {
  const query = new URLSearchParams({ ...visitor, at: new Date(at).toISOString() })
  const answer = await app.send('GET', `/api/v1/links/${id}/explain?${query}`, { key })
  assert.equal(answer.status, 200, answer.text)
  return answer.body.data
}

async function visited(url: string, { user_agent, accept_language, country, query }: Visitor, rules: Link['rules']) {
  // All browsers send the first two. Without them, an old browser is a program.
  const sent = { accept: '*/*', 'accept-language': accept_language ?? '' }
  const headers = { ...sent, 'user-agent': user_agent, 'cf-ipcountry': country }
  const { status, headers: received } = await app.visit(query === '' ? url : `${url}?${query}`, { headers, agent })
  return outcomeOf(status, received.location ?? null, rules)
}

/** Returns the rule that decides by the checks of an explanation. */
function ruleIn({ kind, class: type, checks }: Json): string | null {
  return kind === 'redirect' && type === 'person' ? (checks.find(({ matches }: Json) => matches)?.rule ?? null) : null
}

test('explains what the redirect server responds', { timeout }, async (t) => {
  let now = Date.now()
  t.mock.method(Date, 'now', () => now)
  const seen: Json[] = []
  const check = async (link: Link, visitors: readonly Visitor[]) => {
    const { id, url } = await stored(link)
    for (const visitor of visitors) {
      const explanation = await explained(link.place.key, id, visitor)
      const { status, location, rule, variant, checks } = explanation
      now = visitor.at
      const real = await visited(url, visitor, link.rules)
      assert.deepEqual({ ...outcomeOf(status, location, link.rules), rule, hasVariant: variant !== null }, real)
      assert.equal(ruleIn(explanation), rule)
      assert.equal(checks.length, link.rules.length)
      seen.push(explanation)
    }
  }
  const inAnyOrder = fc.array(anyVisitor, { minLength: 1, maxLength: 3 })
  // A link that is used up can't be scheduled later.
  const visitors = inAnyOrder.map((all) => all.toSorted((one, other) => one.at - other.at))
  await fc.assert(fc.asyncProperty(anyLink, visitors, check), { numRuns: runs(10_000, 100) })
  const kinds = new Set(seen.map(({ kind }) => kind))
  for (const kind of explanationKinds) assert.ok(kinds.has(kind), kind)
  for (const fact of ['rule', 'variant', 'location'])
    assert.ok(
      seen.some((each) => each[fact] !== null),
      fact,
    )
  assert.ok(seen.some(({ class: type, checks }) => type === 'bot' && checks.some(({ matches }: Json) => matches)))
})
