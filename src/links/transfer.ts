import { Failure } from '../errors.ts'
import { composeText, foldCase } from '../lib/text.ts'
import { isLegacyAlias } from '../names/alias.ts'
import { shortUrls } from '../names/short-url.ts'
import { resources } from '../resources.ts'
import type { Db } from '../storage/port.ts'
import {
  checkedRecord,
  InvalidRecord,
  isTime,
  type Members,
  parseTimes,
  resolveLocalId,
  type Stored,
  type Target,
  type Transferable,
} from '../transfer/transferable.ts'
import { Refusal, type Violation } from '../violations.ts'
import { storeAddress } from './address-schema.ts'
import { type Address, findAddresses, isLegacy, maxAddresses, type StoredAddress } from './addresses.ts'
import { insertion, type LinkHistory, type LinkInsertion } from './batch-insertion.ts'
import { succeeded } from './batch-store.ts'
import { conflictsIn, type LinkRow, type LinkValues, linkOf, storeLink, tagsOf } from './schema.ts'
import { findLinkDomain, findLinksByAlias, type LinkWithTotals, linksAfter } from './store.ts'

/** Links in exports and imports. A link is recognized by its alias, which is unique within its domain. */
export const linkTransfer: Transferable = {
  plural: 'links',
  singular: resources.links.singular,
  after: async (db, account, after, limit) => {
    // Links of a domain that is being removed may fill a page that is not the last.
    for (let last = after; ; ) {
      const rows = await linksAfter(db, account, last, limit)
      const served = rows.filter(({ domain_name }) => domain_name !== null)
      const ids = served.map(({ id }) => id)
      const further = await findAddresses(db, account, ids)
      if (served.length > 0 || rows.length === 0) return served.map((row) => lineOf(row, further.get(row.id) ?? []))
      last = rows.at(-1)?.id ?? 0
    }
  },
  read: (members) => {
    const imported = readLink(members)
    return (tx, target) => store(tx, target, imported)
  },
}

/** Returns the API fields that do not depend on the server, the password hash, all clicks and the further addresses. */
function lineOf(row: LinkWithTotals, further: readonly StoredAddress[]) {
  const { bots, previews } = row
  const { id, short_url: _, status: __, ...link } = linkOf(row, () => '')
  const members = Object.entries(link).flatMap(([name, value]) => {
    if (name === 'has_redirect_password') return [['redirect_password_hash', row.redirect_password]]
    return name === 'clicks' ? Object.entries({ clicks: value, bots, previews }) : [[name, value]]
  })
  const addresses = further
    .filter(({ domain_name }) => domain_name !== null)
    .map(({ domain_id, alias, exact, legacy, clicks }) => ({ domain_id, alias, exact, legacy, clicks }))
  return { id, ...Object.fromEntries(members), ...(addresses.length > 0 && { addresses }) }
}

/** A link of a file, with the ids that its domain and space have there. */
interface ImportedLink {
  readonly values: Omit<LinkValues, 'space_id'> & { readonly alias: string }
  readonly legacy: boolean
  /** Its further addresses, with the ids that their domains have there. */
  readonly addresses: readonly (Address & { readonly clicks: number })[]
  readonly sourceDomain: number
  readonly sourceSpace: number | null
  readonly history: LinkHistory
}

/** Reads a line by the rules of the API. Throws `InvalidRecord`. */
function readLink({ redirect_password_hash, bots, previews, addresses, ...members }: Members): ImportedLink {
  if (members.redirect_password !== undefined) {
    throw new InvalidRecord(
      'redirect_password: A file has no passwords. Send redirect_password_hash, or leave both out.',
    )
  }
  const redirect_password = hashOf(redirect_password_hash)
  if (members.has_redirect_password === true && redirect_password === null) {
    throw new InvalidRecord('redirect_password_hash: The link has a password, so the line needs its hash.')
  }
  const legacy = legacyAliasIn(members)
  const { values, violations } = storeLink.read(legacy === null ? members : { ...members, alias: null })
  const { alias = null, domain_id } = { ...values, ...(legacy !== null && { alias: legacy }) }
  const all = [...violations, ...absent({ alias, domain_id }), ...conflictsIn(values)]
  const { domain_id: sourceDomain, space_id: sourceSpace, ...rest } = checkedRecord({ values, violations: all })
  return {
    values: { ...rest, alias: alias ?? '', redirect_password },
    legacy: legacy !== null,
    addresses: readAddresses(addresses),
    sourceDomain: sourceDomain ?? 0,
    sourceSpace,
    history: readHistory({ ...members, bots, previews }),
  }
}

/** Returns an alias that an import has stored, although the rule rejects it; null for others. */
function legacyAliasIn({ alias, legacy }: Members): string | null {
  const isLegacyOne = legacy === true && typeof alias === 'string' && isLegacyAlias(alias) && isLegacy(alias) === 1
  return isLegacyOne ? composeText(alias) : null
}

/** Reads the further addresses of a link, which earlier versions did not have. Throws `InvalidRecord`. */
function readAddresses(addresses: unknown = []): ImportedLink['addresses'] {
  const isList = Array.isArray(addresses) && addresses.length <= maxAddresses
  if (!isList || addresses.some((each) => typeof each !== 'object' || each === null)) {
    throw new InvalidRecord(`addresses: The value is not a list of up to ${maxAddresses} addresses.`)
  }
  return addresses.map((members: Members) => {
    const legacy = legacyAliasIn(members)
    const { values, violations } = storeAddress.read(legacy === null ? members : { ...members, alias: null })
    const { alias = null, domain_id = null } = { ...values, ...(legacy !== null && { alias: legacy }) }
    const all = [...violations, ...absent({ alias, domain_id })].map((each) => ({ ...each, field: 'addresses' }))
    const { exact } = checkedRecord({ values, violations: all })
    return { domain_id: domain_id ?? 0, alias: alias ?? '', exact, clicks: countIn(members, 'clicks') }
  })
}

/** Returns violations for null fields, which the API would choose itself. */
function absent(fields: Readonly<Record<string, unknown>>): Violation[] {
  const missing = Object.keys(fields).filter((field) => fields[field] === null)
  return missing.map((field) => new Refusal('required').at(field))
}

/**
 * Exactly the results of `hashPassword`, because other parameters would let a file choose how long the check of a visitor's
 * password takes. The last characters of both parts have no unused bits.
 */
const passwordHash = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z\d+/]{21}[AQgw]\$[A-Za-z\d+/]{42}[AEIMQUYcgkosw048]$/

function hashOf(hash: unknown): string | null {
  if (hash === undefined || hash === null) return null
  if (typeof hash === 'string' && passwordHash.test(hash)) return hash
  throw new InvalidRecord(
    'redirect_password_hash: The value is not an argon2id hash made by Waymark. Leave it out, or set it to null.',
  )
}

/** More clicks can still be added to this number. */
const maxClicks = 1_000_000_000_000

/** Reads the history of a link, which starts now if the line has none. Throws `InvalidRecord`. */
function readHistory(members: Members): LinkHistory {
  const { last_clicked_at = null } = members
  const [clicks, bots, previews] = [countIn(members, 'clicks'), countIn(members, 'bots'), countIn(members, 'previews')]
  if (!(last_clicked_at === null || isTime(last_clicked_at))) {
    throw new InvalidRecord('last_clicked_at: Times must be in UTC, such as 2026-11-20T12:00:00.000Z.')
  }
  const now = new Date().toISOString()
  if (last_clicked_at !== null && last_clicked_at > now) {
    throw new InvalidRecord('last_clicked_at: The time is in the future.')
  }
  const times = parseTimes(members) ?? { created_at: now, updated_at: now }
  const last_clicked_ms = last_clicked_at === null ? null : Date.parse(last_clicked_at)
  return { clicks, bots, previews, last_clicked_ms, ...times }
}

function countIn(members: Members, name: 'clicks' | 'bots' | 'previews'): number {
  const { [name]: count = 0 } = members
  if (Number.isInteger(count) && Number(count) >= 0 && Number(count) <= maxClicks) return Number(count)
  throw new InvalidRecord(`${name}: The number is not an integer from 0 to ${maxClicks}.`)
}

async function store(
  tx: Db,
  target: Target,
  { values, legacy, addresses, sourceDomain, sourceSpace, history }: ImportedLink,
): Promise<Stored> {
  const { actor } = target
  const { account } = actor
  const domainId = resolveLocalId(target, 'domains', sourceDomain)
  const link = { ...values, space_id: sourceSpace === null ? null : resolveLocalId(target, 'spaces', sourceSpace) }
  const further = addresses.map((each) => ({ ...each, domain_id: resolveLocalId(target, 'domains', each.domain_id) }))
  const domain = await findLinkDomain(tx, account, domainId)
  if (domain === undefined) throw new InvalidRecord('domain_id: The domain has just been deleted here.')
  const row: LinkInsertion = { ...link, domain_id: domain.id, legacy, further, history }
  const [outcome] = await insertion(actor, { kind: 'store', rows: [row] }, shortUrls('https://{domain}'))(tx)
  if (!(outcome instanceof Failure)) return { became: 'stored', id: succeeded(outcome).record.id }
  if (outcome.code !== 'alias_taken') checkedRecord({ values, violations: outcome.facts.violations ?? [] })
  const [existing] = await findLinksByAlias(tx, account, values.alias, domain.id)
  if (existing !== undefined && hasValues(existing, link) && (await hasAddresses(tx, account, existing, further))) {
    return { became: 'known', id: existing.id }
  }
  if (existing === undefined) throw new InvalidRecord(`addresses: ${outcome.message}`)
  throw new InvalidRecord(
    `alias: ${values.alias} is there already on ${domain.name}, with other values; its id is ${existing.id}. Delete the link here, or change the alias in the file, then import again.`,
  )
}

/** Returns whether a link has these further addresses. */
async function hasAddresses(tx: Db, account: number, { id }: LinkRow, further: readonly Address[]): Promise<boolean> {
  if (further.length === 0) return true
  const keyOf = ({ domain_id, alias, exact }: Address) => JSON.stringify([domain_id, alias, exact])
  const own = new Set((await findAddresses(tx, account, [id])).get(id)?.map(keyOf))
  return further.every((address) => own.has(keyOf(address)))
}

function hasValues(link: LinkRow, { tags, ...values }: LinkValues): boolean {
  const hasColumns = Object.entries(values).every(
    ([name, value]) => link[name as keyof LinkValues] === (typeof value === 'boolean' ? Number(value) : value),
  )
  const named = new Set(tagsOf(link).map(foldCase))
  return hasColumns && named.size === tags.length && tags.every((tag) => named.has(foldCase(tag)))
}
