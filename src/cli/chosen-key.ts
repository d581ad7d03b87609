import { StartupFailure } from '../errors.ts'
import { type Key, listKeys, statusOf } from '../keys/store.ts'
import type { Db } from '../storage/port.ts'
import { program, WrongUse } from './command.ts'

/**
 * The key with this ID or name. A key that is still good goes before others of its name. Throws `StartupFailure` when
 * there is no such key, and `WrongUse` when the name leaves open which one is meant.
 */
export async function chosenKey(db: Db, named: number | string): Promise<Key> {
  const keys = (await listKeys(db, null)).filter(({ id, name }) => named === id || named === name)
  const active = keys.filter((key) => statusOf(key) === 'active')
  const [key, ...others] = active.length > 0 ? active : keys
  if (key === undefined) {
    const which = typeof named === 'number' ? `no key ${named}` : 'no key with that name'
    throw new StartupFailure(`There is ${which}. "${program} keys list" shows the keys.`)
  }
  if (others.length === 0) return key
  const ids = [key, ...others].map(({ id }) => id).join(', ')
  throw new WrongUse(`More than one key is called ${key.name}: name the one you mean by its id, one of ${ids}.`)
}
