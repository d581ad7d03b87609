/**
 * What a link refers to: its domain and its space.
 */
import type { Db } from '../storage/port.ts'
import { selectDomain, selectOldestDomain, selectSpace } from './statements.ts'

/** A domain that a link may be stored on. */
export interface LinkDomain {
  readonly id: number
  /** In ASCII. */
  readonly name: string
}

/** The account's domain with this id; with null, its oldest. */
export async function findLinkDomain(db: Db, account: number, id: number | null): Promise<LinkDomain | undefined> {
  const found =
    id === null ? await db.all(selectOldestDomain, { account }) : await db.all(selectDomain, { account, id })
  return found[0]
}

/** Whether the account has this space. */
export async function hasSpace(db: Db, account: number, id: number): Promise<boolean> {
  return (await db.all(selectSpace, { account, id })).length > 0
}

/** Whether another account has it must not show. */
export function unknownDomain(id: number) {
  return { field: 'domain_id', code: 'unknown_domain', message: `There is no domain with the id ${id}.` } as const
}

export function unknownSpace(id: number) {
  return { field: 'space_id', code: 'unknown_space', message: `There is no space with the id ${id}.` } as const
}
