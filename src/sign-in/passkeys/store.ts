import { validationFailed } from '../../errors.ts'
import { insertPerson, selectMemberships } from '../../members/store.ts'
import { signInMember } from '../../sessions/store.ts'
import type { Db } from '../../storage/port.ts'
import { query } from '../../storage/schema.ts'
import { Refusal } from '../../violations.ts'
import { useOnce } from '../used-tokens.ts'

/** The maximum number of passkeys of a person, in all their accounts together. */
export const maxPasskeys = 10

/** A passkey in a list. Times are RFC 3339 in UTC. */
export type ListedPasskey = Awaited<ReturnType<typeof listPasskeys>>[number]

/** Lists the passkeys of a person, oldest first. */
export function listPasskeys(db: Db, person: number) {
  const own = query.selectFrom('passkeys').where('person_id', '=', person).orderBy('id')
  return db.execute(own.select(['id', 'name', 'credential_id', 'transports', 'created_at', 'last_used_at']))
}

/** Finds one of a person's passkeys. */
export async function findPasskey(db: Db, person: number, id: number): Promise<ListedPasskey | undefined> {
  return (await listPasskeys(db, person)).find((passkey) => passkey.id === id)
}

/** Removes one of a person's passkeys. Returns false if it does not exist. Sessions that it started stay open. */
export async function removePasskey(db: Db, person: number, id: number): Promise<boolean> {
  const own = query.deleteFrom('passkeys').where('person_id', '=', person).where('id', '=', id)
  return (await db.execute(own.returning('id'))).length > 0
}

/** A challenge that an authenticator has signed, and when it expires. Unix milliseconds. */
interface SignedChallenge {
  readonly challenge: string
  readonly expiresAt: number
}

/** A verified passkey to store. */
export interface NewPasskey extends SignedChallenge {
  readonly credentialId: string
  readonly publicKey: Uint8Array
  readonly counter: number
  readonly transports: readonly string[]
  /** The user handle that the authenticator has stored with it. */
  readonly handle: Uint8Array
}

/**
 * Stores a passkey of a person, in a transaction. Throws `validation_failed` if its challenge was used before, if it is stored
 * already, or if the person has 10.
 */
export async function insertPasskey(tx: Db, person: number, passkey: NewPasskey, name: string): Promise<void> {
  await useChallenge(tx, passkey)
  // Two requests at the same time must not exceed the maximum together.
  await tx.execute(query.selectFrom('people').select('id').where('id', '=', person).forUpdate())
  if ((await listPasskeys(tx, person)).length >= maxPasskeys) throw tooManyPasskeys()
  await insert(tx, person, passkey, name)
}

/** Stores a person with their first passkey, like `insertPasskey`. Returns the person's id. */
export async function insertPersonWithPasskey(tx: Db, passkey: NewPasskey, name: string): Promise<number> {
  await useChallenge(tx, passkey)
  const person = await insertPerson(tx, null, passkey.handle)
  await insert(tx, person, passkey, name)
  return person
}

async function useChallenge(tx: Db, { challenge, expiresAt }: SignedChallenge): Promise<void> {
  if (!(await useOnce(tx, challenge, expiresAt, Date.now()))) throw passkeyRefused
}

async function insert(tx: Db, person: number, passkey: NewPasskey, name: string): Promise<void> {
  const { credentialId, publicKey, counter, transports } = passkey
  const stored = query
    .insertInto('passkeys')
    .values({
      person_id: person,
      credential_id: credentialId,
      public_key: publicKey,
      counter,
      transports: transports.join(),
      name,
      created_at: new Date().toISOString(),
      last_used_at: null,
    })
    .onConflict((conflict) => conflict.doNothing())
  if ((await tx.execute(stored.returning('id'))).length === 0) throw passkeyRefused
}

/** The field with a passkey is not valid, or its challenge has expired or was used. */
export const passkeyViolation = new Refusal('not_allowed.passkey').at('credential')
export const passkeyRefused = validationFailed([passkeyViolation])

function tooManyPasskeys() {
  return validationFailed([new Refusal('too_many.passkeys', { most: maxPasskeys }).at('credential')])
}

/** Finds the user handle of a person. */
export async function findHandle(db: Db, person: number): Promise<Uint8Array | undefined> {
  const [row] = await db.execute(query.selectFrom('people').select('handle').where('id', '=', person))
  return row?.handle
}

/** Finds a passkey with the user handle of its person. */
export async function findCredential(db: Db, credentialId: string) {
  const [row] = await db.execute(
    query
      .selectFrom('passkeys')
      .innerJoin('people', 'people.id', 'passkeys.person_id')
      .select(['passkeys.id', 'passkeys.person_id', 'passkeys.public_key', 'passkeys.counter', 'people.handle'])
      .where('passkeys.credential_id', '=', credentialId),
  )
  return row
}

/** A passkey whose signature is valid. */
interface UsedPasskey extends SignedChallenge {
  readonly id: number
  readonly person: number
  /** The signature counter in the response; 0 if the authenticator has none. */
  readonly counter: number
  readonly browser: string
}

/**
 * Signs a person in to the account that they used last, and returns the secret of the session. Returns undefined if the
 * challenge was used before, the passkey was removed or copied, or the person is in no account.
 */
export function signInByPasskey(db: Db, used: UsedPasskey): Promise<string | undefined> {
  const { id, person, counter, challenge, expiresAt, browser } = used
  const now = Date.now()
  return db.write(async (tx) => {
    if (!(await useOnce(tx, challenge, expiresAt, now))) return undefined
    const [member] = await tx.execute(selectMemberships(person).limit(1).forUpdate())
    if (member === undefined) return undefined
    const changed = query.updateTable('passkeys').set({ counter, last_used_at: new Date(now).toISOString() })
    // The counter of a copied authenticator falls behind (WebAuthn §6.1.1). Those without a counter always send 0.
    const isNewer = changed.where('id', '=', id).where((e) => {
      return counter === 0 ? e('counter', '=', 0) : e('counter', '<', counter)
    })
    if ((await tx.execute(isNewer.returning('id'))).length === 0) return undefined
    return signInMember(tx, member, { method: 'passkey', browser, now })
  })
}

/** Finds the key that signs challenges. */
export async function findChallengeKey(db: Db): Promise<Uint8Array> {
  const [instance] = await db.execute(query.selectFrom('instance').select('challenge_key'))
  return instance?.challenge_key as Uint8Array
}
