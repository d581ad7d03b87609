import type { Db } from '../storage/port.ts'
import { query, type Row } from '../storage/schema.ts'

/** The owner of records and keys. */
type Account = Readonly<Row<'accounts'>>

/** Creates an account. Names need not be unique. */
export async function createAccount(db: Db, name: string): Promise<Account> {
  const created_at = new Date().toISOString()
  const [account] = await db.execute(query.insertInto('accounts').values({ name, created_at }).returningAll())
  return account as Account
}

/** Lists all accounts of the instance, oldest first, for the operator. Account 0 is not listed: it belongs to no one. */
export function listAccounts(db: Db): Promise<Account[]> {
  return db.execute(accounts.orderBy('id'))
}

export async function findAccount(db: Db, id: number): Promise<Account | undefined> {
  const [account] = await db.execute(accounts.where('id', '=', id))
  return account
}

const accounts = query.selectFrom('accounts').selectAll().where('id', '>', 0)
