/**
 * What must hold of a link beyond its fields one by one: its domain and its space are there, its period is one, and it does
 * not lead to itself.
 */
import { type Violation, validationFailed } from '../errors.ts'
import { matchesShortUrl, type ShortUrl } from '../names/short-url.ts'
import type { Db } from '../storage/port.ts'
import { hashPassword } from './password.ts'
import { periodViolations, type storeLink, type updateLink } from './schema.ts'
import type { LinkChange, LinkRow, LinkValues } from './store.ts'
import { findLinkDomain, hasSpace, type LinkDomain, unknownDomain, unknownSpace } from './store.ts'

type ReadingOf<Form> = Form extends { read(input: never): infer Result } ? Result : never
type ToStore = ReadingOf<typeof storeLink>
type ToUpdate = ReadingOf<typeof updateLink>

interface Checked {
  readonly domain: LinkDomain
  /** Without the password, which takes long to hash. */
  readonly values: Omit<LinkValues, 'redirect_password'> & { readonly alias: string | null }
}

/** What to store, and on which domain. Throws `validation_failed` with all that is wrong. */
export async function checkedValues(
  db: Db,
  account: number,
  { values, violations }: ToStore,
  shortUrl: ShortUrl,
): Promise<Checked> {
  const all = [...violations]
  const isKnown = !violations.some(({ field }) => field === 'domain_id')
  const domain = isKnown ? await findLinkDomain(db, account, values.domain_id ?? null) : undefined
  if (isKnown && domain === undefined) all.push(values.domain_id ? unknownDomain(values.domain_id) : withoutDomain)
  all.push(...(await spaceFaults(db, account, values.space_id)), ...periodViolations(values))
  if (domain && values.alias) all.push(...loopFaults(values.url, shortUrl(domain.name, values.alias)))
  if (all.length > 0 || domain === undefined) throw validationFailed(all)
  const { domain_id: _, redirect_password: __, ...rest } = values as Required<typeof values>
  return { domain, values: rest }
}

/**
 * What to change of a link, without the password. Throws `validation_failed` with all that is wrong. `db` is the transaction
 * that changes it, or two changes at once could leave a period that ends before it starts.
 */
export async function checkedChange(
  db: Db,
  account: number,
  old: LinkRow,
  { values, violations }: ToUpdate,
  shortUrl: ShortUrl,
): Promise<LinkChange> {
  const { domain_id, redirect_password: _, ...change } = values
  const all = [...violations, ...movingFaults(old, domain_id), ...(await spaceFaults(db, account, change.space_id))]
  const {
    active_period_start_at: start = old.active_period_start_at,
    active_period_end_at: end = old.active_period_end_at,
  } = change
  if (change.active_period_start_at !== undefined || change.active_period_end_at !== undefined) {
    all.push(...periodViolations({ active_period_start_at: start, active_period_end_at: end }))
  }
  if (change.url !== undefined || change.alias !== undefined) {
    all.push(...loopFaults(change.url ?? old.url, shortUrl(old.domain_name ?? '', change.alias ?? old.alias)))
  }
  if (all.length > 0) throw validationFailed(all)
  return change
}

/** The hash of a password that was sent in the name of the account. */
export async function hashed<Unset extends null | undefined>(
  account: number,
  password: string | Unset,
): Promise<string | Unset> {
  return typeof password === 'string' ? hashPassword(password, `account ${account}`) : password
}

const withoutDomain: Violation = {
  field: 'domain_id',
  code: 'required',
  message: 'The account has no domain yet. Store one first: POST /api/v1/domains with its name.',
}

async function spaceFaults(db: Db, account: number, space: number | null | undefined): Promise<Violation[]> {
  if (space === undefined || space === null || (await hasSpace(db, account, space))) return []
  return [unknownSpace(space)]
}

/** The domain that is sent back is no change; any other would look like a move that worked. */
function movingFaults({ domain_id, domain_name }: LinkRow, sent: string | undefined): Violation[] {
  if (sent === undefined || sent === String(domain_id)) return []
  const message = `The domain_id field cannot be changed: it stays ${domain_id}, ${domain_name}. Store another link instead.`
  return [{ field: 'domain_id', code: 'prohibited', message }]
}

/** What is wrong with a URL that leads to the link itself. */
export function loopFaults(url: string | undefined, shortUrl: string): Violation[] {
  if (url === undefined || !matchesShortUrl(url, shortUrl)) return []
  return [{ field: 'url', code: 'loops', message: `The url leads to the link's own short URL, ${shortUrl}.` }]
}
