/** Links that are imported together: each is checked before any is stored, and all are stored in one transaction. */
import type { Actor } from '../access/actor.ts'
import { Failure } from '../errors.ts'
import type { Fields } from '../http/form-encoding.ts'
import { Ticks } from '../lib/ticks.ts'
import type { Db } from '../storage/port.ts'
import { Refusal, type Violation } from '../violations.ts'
import { checkedValues, type LinkActions, type LinkRules, withScheme } from './actions.ts'
import { AddressSet, findRivals } from './addresses.ts'
import type { RunBatch } from './batch.ts'
import { notApplied, type RowResult } from './batch-results.ts'
import { requirePassword } from './bulk-requests.ts'
import { type Link, type NewLink, storeLink } from './schema.ts'

/** A new link with its domain, or the violations in its fields. */
export type CheckedLink = Awaited<ReturnType<typeof checkedValues>> | { readonly violations: readonly Violation[] }

/** Checks the fields of the account's new links, and that their aliases are free and different. Stores nothing. */
export async function checkNewLinks(
  db: Db,
  account: number,
  all: readonly Fields[],
  rules: LinkRules,
): Promise<CheckedLink[]> {
  const ticks = new Ticks()
  const checked: CheckedLink[] = []
  for (const fields of all) {
    checked.push(await checkNewLink(db, account, fields, rules))
    await ticks.next()
  }
  const taken = await aliasViolations(db, account, checked)
  return checked.map((link, at) => {
    const violation = taken.get(at)
    return violation === undefined ? link : { violations: [violation] }
  })
}

async function checkNewLink(db: Db, account: number, fields: Fields, rules: LinkRules): Promise<CheckedLink> {
  try {
    requirePassword(fields)
    return await checkedValues(db, account, withScheme(storeLink.read(fields), rules), rules.shortUrl)
  } catch (error) {
    if (error instanceof Failure && error.facts.violations !== undefined) return { violations: error.facts.violations }
    throw error
  }
}

/** Returns a violation for each alias that a stored link or an earlier new link on the domain has, by its index. */
async function aliasViolations(
  db: Db,
  account: number,
  links: readonly CheckedLink[],
): Promise<ReadonlyMap<number, Violation>> {
  const found = new Map<number, Violation>()
  const named = links.flatMap((link, at) => {
    if ('violations' in link || link.values.alias === null) return []
    return { at, domain_id: link.domain.id, alias: link.values.alias, exact: link.values.exact }
  })
  const taken = await findRivals(db, account, named)
  const earlier = new AddressSet()
  for (const { at, ...address } of named) {
    const { alias } = address
    if (taken.hasClash(address)) found.set(at, new Refusal('taken.alias', { alias }).at('alias'))
    else if (earlier.hasClash(address)) found.set(at, new Refusal('taken.above', { alias }).at('alias'))
    earlier.add(address)
  }
  return found
}

/**
 * Stores the actor's new links in one transaction. Returns a function that returns them. If a link can't be stored, throws its
 * failure with the index of its `row`, and stores none.
 */
export async function storeNewLinks(
  run: RunBatch,
  actions: LinkActions,
  actor: Actor,
  all: readonly Fields[],
): Promise<() => readonly Link[]> {
  const ticks = new Ticks()
  const rows: NewLink[] = []
  // Passwords are hashed here, one after another, so that other accounts get their turn.
  for (const [row, fields] of all.entries()) {
    rows.push(await namingRow(row, () => actions.prepare(actor.account, fields)))
    await ticks.next()
  }
  const change = { kind: 'store', rows } as const
  const { body } = await run({ actor, change, isAtomic: true, claim: null, hasResults: true }).catch((error) => {
    throw failureOfRow(error)
  })
  return () => JSON.parse(new TextDecoder().decode(body)).data.map(({ data }: RowResult) => data)
}

/** Returns the failure of the first row that failed in a rejected batch; any other error unchanged. */
function failureOfRow(error: unknown): unknown {
  if (!(error instanceof Failure)) return error
  const { results, violations = [] } = error.facts
  const rows = (results?.data ?? []) as readonly RowResult[]
  const failed = rows.find(({ status }) => status !== notApplied)
  return failed?.code === undefined
    ? error
    : new Failure(failed.code, failed.message ?? '', { violations, row: failed.index })
}

async function namingRow<T>(row: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof Failure ? new Failure(error.code, error.message, { ...error.facts, row }) : error
  }
}
