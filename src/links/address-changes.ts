/** Changes of the main addresses of links, and what they do to further ones. */
import { aliasTaken, type Failure, validationFailed } from '../errors.ts'
import { foldCase } from '../lib/text.ts'
import { type Db, parts } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { Refusal } from '../violations.ts'
import {
  type Address,
  type ChangedAddresses,
  clash,
  deleteAddresses,
  describeAddresses,
  findAllAddresses,
  insertAddresses,
  mainColumns,
  maxAddresses,
  type NewAddress,
  type StoredAddress,
  takenAmong,
} from './addresses.ts'

/** A change of addresses. Undefined values stay unchanged. */
export interface AddressChange {
  readonly alias?: string | undefined
  readonly exact?: boolean | undefined
  readonly domain_id?: number | undefined
  /** Whether previous main addresses become further ones. */
  readonly keepsAddress: boolean
  /** The further addresses afterwards, as an event has them. */
  readonly addresses?: readonly NewAddress[] | undefined
}

/** The copies of the new main address of a link, and its further addresses. */
export interface MovedLink {
  readonly columns: ReturnType<typeof mainColumns>
  readonly addresses: ChangedAddresses
}

/** The links whose addresses fit the change, and the failures of the others, by id. */
interface ChangedLinks {
  readonly moved: ReadonlyMap<number, MovedLink>
  readonly failures: ReadonlyMap<number, Failure>
}

/**
 * Changes the addresses of the account's links, which are locked, and so are the domains, in the order of the links. Nothing
 * changes for a link that wants an address that is taken.
 */
export async function changeAddresses(
  tx: Db,
  account: number,
  links: readonly number[],
  change: AddressChange,
): Promise<ChangedLinks> {
  const stored = await findAllAddresses(tx, account, links)
  const plans = links.flatMap((link) => planAddresses(link, stored.get(link) ?? [], change) ?? [])
  const failures = new Map<number, Failure>()
  for (const { link, left, added } of plans) {
    if (left.length + added.length > maxAddresses + 1) failures.set(link, tooMany)
  }
  const moved = new Map<number, MovedLink>()
  for (const some of inSteps(plans.filter(({ link }) => !failures.has(link)))) {
    const inserted = await replaceAddresses(tx, account, some)
    for (const plan of some) {
      const { link, added } = plan
      const own = inserted.get(link) ?? []
      if (own.length < added.length) failures.set(link, aliasTaken(takenAmong(added, own)))
      else moved.set(link, movedLink(plan, own))
    }
  }
  await changeMainRows(
    tx,
    account,
    plans.filter(({ link }) => moved.has(link)),
  )
  return { moved, failures }
}

/** Divides plans into steps, in their order, so that within a step no link wants an address that another one loses. */
function inSteps(plans: readonly Plan[]): Plan[][] {
  const steps: Plan[][] = []
  let [lost, wanted] = [new Set<string>(), new Set<string>()]
  for (const plan of plans) {
    const [loses, wants] = [new Set(plan.gone.map(placeOf)), new Set(plan.added.map(placeOf))]
    if (steps.length === 0 || !(loses.isDisjointFrom(wanted) && wants.isDisjointFrom(lost))) {
      steps.push([])
      lost = new Set()
      wanted = new Set()
    }
    steps.at(-1)?.push(plan)
    for (const place of loses) lost.add(place)
    for (const place of wants) wanted.add(place)
  }
  return steps
}

/** Only addresses with the same place can clash. */
function placeOf({ domain_id, alias }: Address): string {
  return `${domain_id} ${foldCase(alias)}`
}

/**
 * Stores the addresses that links get, and then deletes those that they lose. Returns the stored ones by link: all that a link
 * wants; otherwise nothing has changed for the link. What is in the way of a link's own new addresses is deleted before, but
 * nothing else, so that two links on PostgreSQL that want each other's address don't wait for each other.
 */
async function replaceAddresses(
  tx: Db,
  account: number,
  plans: readonly Plan[],
): Promise<ReadonlyMap<number, StoredAddress[]>> {
  const inWay = new Map(
    plans.map((plan) => [plan, plan.gone.filter((old) => plan.added.some((each) => clash(old, each)))]),
  )
  await deleteAddresses(tx, account, idsOf([...inWay.values()].flat()))
  const added = plans.flatMap((plan) => plan.added)
  const inserted = Map.groupBy(await insertAddresses(tx, account, added), ({ link_id }) => link_id)
  const isFailed = ({ link, added }: Plan) => (inserted.get(link)?.length ?? 0) < added.length
  const failed = plans.filter(isFailed)
  await deleteAddresses(tx, account, idsOf(failed.flatMap(({ link }) => inserted.get(link) ?? [])))
  await insertAddresses(
    tx,
    account,
    failed.flatMap((plan) => inWay.get(plan) ?? []),
  )
  const left = plans.filter((plan) => !isFailed(plan))
  await deleteAddresses(
    tx,
    account,
    idsOf(left.flatMap((plan) => plan.gone.filter((old) => !inWay.get(plan)?.includes(old)))),
  )
  return inserted
}

const tooMany = validationFailed([new Refusal('too_many', { most: maxAddresses }).at('keep_address')])

function idsOf(addresses: readonly StoredAddress[]): number[] {
  return addresses.map(({ id }) => id)
}

/** What a change does to a link's addresses. */
interface Plan {
  readonly link: number
  /** The further addresses before. */
  readonly further: readonly StoredAddress[]
  /** The stored addresses that the link keeps, and those that it loses. */
  readonly left: readonly StoredAddress[]
  readonly gone: readonly StoredAddress[]
  readonly added: readonly NewAddress[]
  /** The main address afterwards. */
  readonly main: Address & { readonly legacy?: boolean }
  /** Stored addresses that become the main one, or a further one. */
  readonly promoted: readonly StoredAddress[]
  readonly demoted: readonly StoredAddress[]
}

/** Plans a change of a link with these addresses. Returns undefined if it has none, because it was deleted. */
export function planAddresses(link: number, stored: readonly StoredAddress[], change: AddressChange): Plan | undefined {
  const old = stored.find(({ main }) => main)
  if (old === undefined) return undefined
  const further = stored.filter((each) => each !== old)
  const { domain_id = old.domain_id, alias = old.alias } = change
  const named = further.find((each) => each.domain_id === domain_id && each.alias === alias)
  const wanted: Address = { domain_id, alias, exact: change.exact ?? named?.exact ?? old.exact }
  const isSame = (each: Address) => each.domain_id === domain_id && each.alias === alias && each.exact === wanted.exact
  const listed = change.addresses && new Set(change.addresses.map(({ id }) => id))
  const keepsOld = isSame(old) || listed?.has(old.id) || (change.keepsAddress && !clash(old, wanted))
  const promoted = further.filter(isSame)
  const stays = (each: StoredAddress) => (listed === undefined ? !clash(each, wanted) : listed.has(each.id))
  const left = [...(keepsOld ? [old] : []), ...further.filter((each) => promoted.includes(each) || stays(each))]
  const known = new Set(idsOf(left))
  const returning = (change.addresses ?? []).filter(({ id }) => id === undefined || !known.has(id))
  const isNew = !isSame(old) && promoted.length === 0
  return {
    ...{ link, further, left, gone: stored.filter((each) => !known.has(each.id)) },
    added: [
      ...(isNew ? [{ ...wanted, link_id: link, main: true }] : []),
      ...returning.map((each) => ({ ...each, link_id: link })),
    ],
    main: isSame(old) ? old : (promoted[0] ?? wanted),
    promoted,
    demoted: keepsOld && !isSame(old) ? [old] : [],
  }
}

/** Makes stored addresses main or further ones. */
async function changeMainRows(tx: Db, account: number, plans: readonly Plan[]): Promise<void> {
  const rows = query.updateTable('addresses').where('account_id', '=', account)
  for (const some of parts(plans.flatMap(({ demoted }) => idsOf(demoted)))) {
    await tx.execute(rows.set({ main: 0 }).where('id', 'in', some))
  }
  for (const some of parts(plans.flatMap(({ promoted }) => idsOf(promoted)))) {
    await tx.execute(rows.set({ main: 1 }).where('id', 'in', some))
  }
}

function movedLink({ further, left, main, promoted, demoted }: Plan, inserted: readonly StoredAddress[]): MovedLink {
  const isFurther = (each: StoredAddress) => (each.main ? demoted.includes(each) : !promoted.includes(each))
  const after = [...left, ...inserted].filter(isFurther).sort((a, b) => a.id - b.id)
  const { legacy } = main
  return {
    columns: mainColumns(main, legacy === undefined ? undefined : Number(legacy)),
    addresses: describeAddresses(further, after),
  }
}
