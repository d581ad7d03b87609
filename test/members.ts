/** Members for tests. */

import { systemActor } from '../src/access/actor.ts'
import type { Role } from '../src/access/roles.ts'
import { insertMember, insertPerson } from '../src/members/store.ts'
import { insertLoginToken, type MemberId } from '../src/sessions/store.ts'
import type { Storage } from '../src/storage/port.ts'

export interface MemberOptions {
  readonly name?: string
  readonly role?: Role
  readonly email?: string | null
  /** A person from other accounts; by default a new one. */
  readonly person?: number
}

/** Adds a member to an account: an owner by default. */
export function newMember(storage: Storage, account: number, options: MemberOptions = {}): Promise<MemberId> {
  const { name = 'Ana', role = 'owner', email = null, person } = options
  return storage.write(async (tx) => {
    const added = { person: person ?? (await insertPerson(tx, null)), name, email, role, hasOidcRole: false }
    const { record } = await insertMember(tx, systemActor(account), added)
    return { account, id: record.id }
  })
}

/** Returns the token of a sign-in link for a new member. */
export async function loginToken(storage: Storage, account: number, options: MemberOptions = {}): Promise<string> {
  return insertLoginToken(storage, await newMember(storage, account, options))
}
