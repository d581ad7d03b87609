/** Finds aliases for rows whose alias is taken. */
import { foldCase } from '../lib/text.ts'
import { addressesWith } from '../links/spellings.ts'
import { maxAliasLength, maxLegacyLength } from '../names/alias.ts'
import type { Db } from '../storage/port.ts'
import { entriesWith } from './staging/store.ts'

interface Taken {
  readonly alias: string
  readonly domain: { readonly id: number }
  readonly legacy: boolean
}

/**
 * Returns the first free alias of `alias-2`, `alias-3` and so on, which no row of the file has either. A long one is cut. After
 * 73 numbers, only powers of two are tried: the lock is not held for the thousands of others.
 */
export async function freeAlias(
  tx: Db,
  { account, importId }: { readonly account: number; readonly importId: number },
  { alias, domain, legacy }: Taken,
): Promise<string | undefined> {
  const most = legacy ? maxLegacyLength : maxAliasLength
  for (const numbers of triedTogether) {
    const start = [...alias].slice(0, most - `-${Number(numbers.at(-1)) + 1}`.length).join('')
    const names = numbers.map((number) => `${start}-${number}`)
    const folded = names.map(foldCase)
    const taken = new Set((await addressesWith(tx, account, domain.id, folded)).map((each) => each.folded))
    for (const each of await entriesWith(tx, importId, folded)) taken.add(each.folded)
    const free = names.find((name) => !taken.has(foldCase(name)))
    if (free !== undefined) return free
  }
  return undefined
}

/** Numbers that are looked up with one statement. */
const triedTogether = [
  Array.from({ length: 8 }, (_, at) => 2 + at),
  Array.from({ length: 64 }, (_, at) => 10 + at),
  Array.from({ length: 24 }, (_, at) => 2 ** (7 + at)),
]
