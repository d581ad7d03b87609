/**
 * An account as it may look after two months: what pictures and pages are made of. The same numbers each time, up to today.
 */
import { addDay, type DayFacts, type Dimension, emptyDay, ensureHour, type Value } from '../src/analytics/day.ts'
import { recountRecent } from '../src/analytics/recent-totals.ts'
import type { Db } from '../src/storage/port.ts'
import type { Json } from './client.ts'
import { setCreatedAt, setTotals, storeDays } from './days.ts'

/** Stores a record through the API, such as at `/links`; returns it. */
export type Stored = (path: string, json: Json) => Promise<Json>

interface Demo {
  readonly stored: Stored
  readonly db: Db
  readonly account: number
}

const days = 60
const dayMs = 86_400_000

const domains = ['go.acme.com', 'acme.link', 'bücher.example']
const spaces = [
  ['Summer campaign', 3],
  ['Newsletter', 4],
  ['Print', 1],
  ['Press', 2],
  ['Partners', 6],
] as const

/** Alias, target, title and space. */
const links = [
  ['summer', 'https://www.acme.com/summer-sale', 'Summer sale', 1],
  ['newsletter', 'https://www.acme.com/newsletter?utm_source=short', 'Newsletter sign-up', 2],
  ['jobs', 'https://careers.acme.com/', 'Open positions', null],
  ['app', 'https://apps.apple.com/us/app/acme/id1234567890', 'The app', null],
  ['menu', 'https://www.acme.com/menu/autumn-2026.pdf', 'Menu on the tables', 3],
  ['press-kit', 'https://www.acme.com/press/kit', 'Press kit', 4],
  ['docs', 'https://docs.acme.com/getting-started', null, null],
  ['black-friday', 'https://www.acme.com/black-friday', 'Black Friday', 1],
  ['map', 'https://www.openstreetmap.org/way/24820421#map=18/52.51/13.37', 'How to find us', 3],
  ['feedback', 'https://forms.acme.com/feedback/2026', 'Feedback after a visit', 2],
  ['wifi', 'https://www.acme.com/guests/wifi', 'Guest wi-fi', 3],
  ['status', 'https://status.acme.com/', null, null],
  ['webinar', 'https://events.acme.com/webinars/short-links-that-last', 'Webinar in December', 2],
  ['partner-portal', 'https://partners.acme.com/welcome', 'Partner portal', 5],
  ['returns', 'https://www.acme.com/help/returns-and-refunds', 'Returns', null],
  ['recipe', 'https://www.acme.com/recipes/plum-cake?lang=en', 'Plum cake', 2],
  ['lookbook', 'https://www.acme.com/lookbook/autumn', 'Autumn lookbook', 1],
  ['gift-card', 'https://shop.acme.com/gift-cards', 'Gift cards', 1],
  ['interview', 'https://www.example-times.com/2026/10/acme-founders-on-small-things', 'Founders interviewed', 4],
  ['été', 'https://www.acme.com/fr/ete', 'Soldes d’été', 1],
] as const

/** The shares of values in percent. The remaining clicks have no value. */
const shares: Readonly<Record<Exclude<Dimension, 'links'>, Readonly<Record<string, number>>>> = {
  countries: { DE: 34, US: 22, GB: 12, FR: 9, NL: 7, PL: 5, AT: 4, IN: 4, BR: 2 },
  referrers: { 'www.google.com': 21, 'www.linkedin.com': 11, 't.co': 8, 'www.acme.com': 5, 'duckduckgo.com': 3 },
  browsers: { Chrome: 48, Safari: 29, Firefox: 12, 'Microsoft Edge': 8, 'Samsung Internet for Android': 3 },
  operating_systems: { Windows: 31, iOS: 24, Android: 23, macOS: 16, Linux: 6 },
  devices: { desktop: 53, mobile: 43, tablet: 4 },
  languages: { en: 41, de: 36, fr: 11, nl: 6, pl: 6 },
  rules: {},
  addresses: {},
}

/** Stores domains, spaces, 40 links, and the clicks of two months. */
export async function storeDemo({ stored, db, account }: Demo): Promise<void> {
  const domainIds = await inTurn(domains, async (name) => (await stored('/domains', { name })).id)
  const spaceIds = await inTurn(spaces, async ([name, color]) => (await stored('/spaces', { name, color })).id)
  const random = numbers(20_261_122)
  const today = Math.floor(Date.now() / dayMs)
  const book = new Book()
  for (let place = 0; place < 40; place++) {
    const [alias, url, title, space] = links[place % links.length] as (typeof links)[number]
    const domain = domainIds[place < links.length ? 0 : 1]
    const link = { alias, url, title, domain_id: domain, space_id: space === null ? null : spaceIds[space - 1] }
    const { id } = await stored('/links', { ...link, ...extrasOf(place) })
    const age = place % 7 === 3 ? 12 : days + 20 - place
    const at = today * dayMs - age * dayMs + Math.floor(random() * dayMs)
    await setCreatedAt(db, id, new Date(at).toISOString())
    const popularity = 90 / (1 + place) ** 0.9
    for (let day = today - Math.min(age, days) + 1; day <= today; day++) {
      const facts = dayOf(popularity * rhythm(day, today, place), random)
      book.add({ link: id, domain, space: link.space_id, account }, day, facts)
    }
  }
  await book.write(db)
}

/** A few links are not simply active. */
function extrasOf(place: number): Json {
  if (place === 12) return { active_period_start_at: new Date(Date.now() + 9 * dayMs).toISOString() }
  if (place === 15) return { disabled: true }
  if (place === 24) return { active_period_end_at: new Date(Date.now() + 2 * dayMs).toISOString() }
  return {}
}

/** Weeks have ends, campaigns begin, and today is not over. */
function rhythm(day: number, today: number, place: number): number {
  // The first of January 1970 was a Thursday.
  const isWeekend = (day + 4) % 7 === 0 || (day + 4) % 7 === 6
  const wave = 1 + 0.25 * Math.sin((day + place * 5) / 6) + (days - (today - day)) / 120
  const campaign = place === 0 && today - day < 11 && today - day > 3 ? 2.2 : 1
  return (isWeekend ? 0.55 : 1) * wave * campaign * (day === today ? 0.6 : 1)
}

function dayOf(expected: number, random: () => number): DayFacts {
  const facts = emptyDay()
  const people = Math.round(expected * (0.8 + 0.4 * random()))
  for (let each = 0; each < people; each++) {
    const counts = ensureHour(facts, Math.floor(6 + 17 * ((random() + random()) / 2)))
    counts.people += 1
    counts.unique += Number(random() < 0.82)
    for (const [dimension, weighted] of Object.entries(shares)) {
      const value = drawn(weighted, random)
      const breakdown = facts.breakdowns[dimension as Dimension]
      breakdown.set(value, (breakdown.get(value) ?? 0) + 1)
    }
  }
  const counts = ensureHour(facts, 12)
  counts.bots += Math.round(expected * 0.12 * random())
  counts.previews += Math.round(expected * 0.05 * random())
  return facts
}

function drawn(weighted: Readonly<Record<string, number>>, random: () => number): Value {
  let left = random() * 100
  for (const [value, weight] of Object.entries(weighted)) {
    left -= weight
    if (left < 0) return value
  }
  return null
}

interface Owners {
  readonly link: number
  readonly domain: number
  readonly space: number | null
  readonly account: number
}

/** Days of links, and what they come to for their owners, written once. */
class Book {
  #account = 0
  readonly #days = new Map<string, { level: number; day: number; id: number; space: number | null; facts: DayFacts }>()
  readonly #totals = new Map<
    number,
    { clicks: number; bots: number; previews: number; last_clicked_ms: number | null }
  >()

  add({ link, domain, space, account }: Owners, day: number, facts: DayFacts): void {
    this.#account = account
    this.#add(0, day, link, facts, space)
    const people = [...facts.hours.values()].reduce((sum, counts) => sum + counts.people, 0)
    const ofLink = new Map<Value, number>(people > 0 ? [[link, people]] : [])
    const named = { ...facts, breakdowns: { ...facts.breakdowns, links: ofLink } }
    this.#add(1, day, domain, named)
    if (space !== null) this.#add(2, day, space, named)
    this.#add(3, day, account, named)
    const total = this.#totals.get(link) ?? { clicks: 0, bots: 0, previews: 0, last_clicked_ms: null }
    this.#totals.set(link, total)
    for (const { people, bots, previews } of facts.hours.values()) {
      total.clicks += people
      total.bots += bots
      total.previews += previews
      if (people > 0) total.last_clicked_ms = day * dayMs
    }
  }

  async write(db: Db): Promise<void> {
    await storeDays(db, [...this.#days.values()])
    await Promise.all([...this.#totals].map(([link, total]) => setTotals(db, link, total)))
    const records = [...this.#days.values()].flatMap(({ level, id }) => (level < 3 ? [`${level}/${id}`] : []))
    for (const record of new Set(records)) {
      const [level, id] = record.split('/').map(Number) as [0 | 1 | 2, number]
      await db.write((tx) => recountRecent(tx, this.#account, level, [id]))
    }
  }

  #add(level: number, day: number, id: number, facts: DayFacts, space: number | null = null): void {
    const key = `${level}/${day}/${id}`
    const known = this.#days.get(key) ?? { level, day, id, space, facts: emptyDay() }
    this.#days.set(key, known)
    addDay(known.facts, facts)
  }
}

async function inTurn<T, U>(all: readonly T[], work: (each: T) => Promise<U>): Promise<U[]> {
  const done: U[] = []
  for (const each of all) done.push(await work(each))
  return done
}

/** Numbers from 0 to 1 that look random, and are the same each time (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
