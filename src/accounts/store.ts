import type { Generated, Kysely } from 'kysely'
import type { Db } from '../storage/port.ts'
import { statement } from '../storage/statement.ts'

interface AccountsTable {
  id: Generated<number>
  name: string
  created_at: string
}

type Tables = { accounts: AccountsTable }

const columns = ['id', 'name', 'created_at'] as const

/** The owner of records and keys. */
interface Account {
  readonly id: number
  readonly name: string
  readonly created_at: string
}

/** Makes an account; names need not be unique. */
export async function createAccount(db: Db, name: string): Promise<Account> {
  const [account] = await db.writeOne(inserted, { name, created_at: new Date().toISOString() })
  return account as Account
}

/** All accounts of the instance, oldest first, but for account 0, which is of no one: for the operator, never for a key. */
export function listAccounts(db: Db): Promise<Account[]> {
  return db.all(everyAccount, {})
}

export async function findAccount(db: Db, id: number): Promise<Account | undefined> {
  const [account] = await db.all(accountById, { id })
  return account
}

const inserted = statement((db: Kysely<Tables>, account: { name: string; created_at: string }) =>
  db.insertInto('accounts').values({ name: account.name, created_at: account.created_at }).returning(columns),
)

const everyAccount = statement((db: Kysely<Tables>) =>
  db.selectFrom('accounts').select(columns).where('id', '>', 0).orderBy('id'),
)

const accountById = statement((db: Kysely<Tables>, { id }: { id: number }) =>
  db.selectFrom('accounts').select(columns).where('id', '=', id).where('id', '>', 0),
)
