import { Failure, type Violation } from '../errors.ts'
import { shortUrls } from '../names/short-url.ts'
import { resources } from '../resources.ts'
import type { Db } from '../storage/port.ts'
import {
  checkedRecord,
  InvalidRecord,
  isTime,
  localIdOf,
  type Members,
  type Stored,
  type Target,
  type Transferable,
  timesOf,
} from '../transfer/transferable.ts'
import { loopFaults } from './checks.ts'
import { linkOf, periodViolations, storeLink } from './schema.ts'
import type { LinkRow } from './store.ts'
import {
  findLinkByAlias,
  findLinkDomain,
  insertLink,
  type LinkDomain,
  type LinkPast,
  type LinkValues,
  linksAfter,
  type Programs,
  programsOfLinks,
} from './store.ts'

/** Links in exports and imports. A link is recognised by its alias, which is unique within its domain. */
export const linkTransfer: Transferable = {
  plural: 'links',
  singular: resources.links.singular,
  after: async (db, account, after, limit) => {
    // A page may hold nothing but links of a domain that is being removed, and still not be the last.
    for (let rows = await linksAfter(db, account, after, limit); rows.length > 0; ) {
      const kept = rows.filter(({ domain_name }) => domain_name !== null)
      if (kept.length > 0) {
        const programs = await programsOfLinks(db, account, after, kept.at(-1)?.id ?? 0)
        return kept.map((row) => lineOf(row, programs.get(row.id)))
      }
      rows = await linksAfter(db, account, rows.at(-1)?.id ?? 0, limit)
    }
    return []
  },
  read: (members) => {
    const wanted = wantedIn(members)
    return (tx, target) => store(tx, target, wanted)
  },
}

/** Returns the fields of the API that do not depend on the server, with the hash of the password and all clicks. */
function lineOf(row: LinkRow, { bots, previews }: Programs = { bots: 0, previews: 0 }) {
  const { id, short_url: _, status: __, ...link } = linkOf(row, () => '')
  const members = Object.entries(link).flatMap(([name, value]) => {
    if (name === 'has_redirect_password') return [['redirect_password_hash', row.redirect_password]]
    return name === 'clicks' ? Object.entries({ clicks: value, bots, previews }) : [[name, value]]
  })
  return { id, ...Object.fromEntries(members) }
}

type Values = Omit<LinkValues, 'space_id'> & { readonly alias: string }

/** A link of a file, with the ids that its domain and space have there. */
interface Wanted {
  readonly values: Values
  readonly domainThere: number
  readonly spaceThere: number | null
  readonly past: LinkPast
}

/** Reads a line by the rules of the API. Throws `InvalidRecord`. */
function wantedIn({ redirect_password_hash, bots, previews, ...members }: Members): Wanted {
  if (members.redirect_password !== undefined) {
    throw new InvalidRecord(
      'redirect_password: A file has no passwords. Send redirect_password_hash, or leave both out.',
    )
  }
  const hash = hashOf(redirect_password_hash)
  if (members.has_redirect_password === true && hash === null) {
    throw new InvalidRecord('redirect_password_hash: The link has a password, so the line needs its hash.')
  }
  const { values, violations } = storeLink.read(members)
  const { domain_id, space_id, alias, ...rest } = values as Required<typeof values>
  const all = [...violations, ...absent({ alias, domain_id }), ...periodViolations(rest)]
  checkedRecord({ values, violations: all })
  return {
    values: { ...rest, alias: alias ?? '', redirect_password: hash },
    domainThere: domain_id ?? 0,
    spaceThere: space_id,
    past: pastOf({ ...members, bots, previews }),
  }
}

/** What the API would choose itself, and a file has to say. */
function absent(fields: Readonly<Record<string, unknown>>): Violation[] {
  const missing = Object.keys(fields).filter((field) => fields[field] === null)
  return missing.map((field) => ({ field, code: 'required', message: `The ${field} field is required.` }))
}

/**
 * What `hashPassword` makes, to the letter: other parameters would let a file choose how long a visitor's password takes
 * to check. The last characters of both parts leave no bits unused.
 */
const passwordHash = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z\d+/]{21}[AQgw]\$[A-Za-z\d+/]{42}[AEIMQUYcgkosw048]$/

function hashOf(hash: unknown): string | null {
  if (hash === undefined || hash === null) return null
  if (typeof hash === 'string' && passwordHash.test(hash)) return hash
  throw new InvalidRecord(
    'redirect_password_hash: The value is not an argon2id hash made by Waymark. Leave it out, or set it to null.',
  )
}

/** As many as can still be added to. */
const maxClicks = 1_000_000_000_000

/** A line without a past is a link of now. Throws `InvalidRecord`. */
function pastOf(members: Members): LinkPast {
  const { last_clicked_at = null } = members
  const [clicks, bots, previews] = [countIn(members, 'clicks'), countIn(members, 'bots'), countIn(members, 'previews')]
  if (!(last_clicked_at === null || isTime(last_clicked_at))) {
    throw new InvalidRecord('last_clicked_at: Times are written in UTC, such as 2026-11-20T12:00:00.000Z.')
  }
  const now = new Date().toISOString()
  if (last_clicked_at !== null && last_clicked_at > now) {
    throw new InvalidRecord('last_clicked_at: The time is in the future.')
  }
  const times = timesOf(members) ?? { created_at: now, updated_at: now }
  const last_clicked_ms = last_clicked_at === null ? null : Date.parse(last_clicked_at)
  return { clicks, bots, previews, last_clicked_ms, ...times }
}

function countIn(members: Members, name: 'clicks' | 'bots' | 'previews'): number {
  const { [name]: count = 0 } = members
  if (Number.isInteger(count) && Number(count) >= 0 && Number(count) <= maxClicks) return Number(count)
  throw new InvalidRecord(`${name}: The number is not an integer from 0 to ${maxClicks}.`)
}

async function store(tx: Db, target: Target, { values, domainThere, spaceThere, past }: Wanted): Promise<Stored> {
  const domainHere = localIdOf(target, domains, domainThere)
  const space_id = spaceThere === null ? null : localIdOf(target, spaces, spaceThere)
  const domain = await findLinkDomain(tx, target.account, domainHere)
  if (domain === undefined) throw new InvalidRecord('domain_id: The domain has just been deleted here.')
  checkedRecord({
    values,
    violations: loopFaults(values.url, shortUrls('https://{domain}')(domain.name, values.alias)),
  })
  try {
    const { record } = await insertLink(tx, target.account, domain, { ...values, space_id }, past)
    return { became: 'stored', id: record.id }
  } catch (error) {
    // After a statement that failed, the transaction cannot go on.
    if (!(error instanceof Failure && error.code === 'alias_taken')) throw error
    return known(tx, target.account, domain, { ...values, space_id })
  }
}

const domains = { plural: 'domains', singular: resources.domains.singular }
const spaces = { plural: 'spaces', singular: resources.spaces.singular }

/** The link that is there, if it has the same values. Throws `InvalidRecord` if it has others. */
async function known(tx: Db, account: number, domain: LinkDomain, values: Values & LinkValues): Promise<Stored> {
  const there = (await findLinkByAlias(tx, account, domain.id, values.alias))?.record
  if (there !== undefined && isSame(there, values)) return { became: 'known', id: there.id }
  const id = there === undefined ? '' : `; its id is ${there.id}`
  throw new InvalidRecord(
    `alias: ${values.alias} is there already on ${domain.name}, with other values${id}. Delete the link here, or change the alias in the file, then import again.`,
  )
}

function isSame(there: LinkRow, { disabled, forward_query, ...values }: Values & LinkValues): boolean {
  const names = Object.keys(values) as (keyof typeof values)[]
  const flags = there.disabled === Number(disabled) && there.forward_query === Number(forward_query)
  return flags && names.every((name) => there[name] === values[name])
}
