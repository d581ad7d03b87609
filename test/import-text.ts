import { systemActor } from '../src/access/actor.ts'
import { transferables } from '../src/cli/transfer.ts'
import type { Db } from '../src/storage/port.ts'
import { importRecords } from '../src/transfer/import.ts'

/** Imports a file into account 1. Returns the counts and the reasons of rejected lines. */
export async function importText(db: Db, text: string, kinds: typeof transferables = transferables) {
  const reasons: string[] = []
  const file = async function* () {
    yield Buffer.from(text)
  }
  const listener = { refused: (line: number, reason: string) => reasons.push(`${line}: ${reason}`), progressed() {} }
  const imported = await importRecords(
    db,
    { actor: systemActor(1), asNew: false, transferables: kinds },
    file(),
    listener,
  )
  return { ...imported, reasons }
}
