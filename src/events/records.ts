import type { Actor } from '../access/actor.ts'
import { addJob, cancelJob } from '../jobs/store.ts'
import type { Db } from '../storage/port.ts'
import type { Precondition, Records, Times, Versioned } from '../storage/records.ts'
import { clickLevels, query, type Row } from '../storage/schema.ts'
import { eraseEvents, erasing, removeClicks } from './erasure.ts'
import {
  createdEvent,
  deletedEvent,
  type EventDescription,
  type GroupKind,
  type NewEvent,
  restoredEvent,
  updatedEvent,
  type Values,
} from './event.ts'
import { recordEvents } from './log.ts'

/** Adds the job that removes a record, in place of the one that returns its links. */
export async function addRemoval(
  tx: Db,
  account: number,
  subject: { readonly record: GroupKind; readonly record_id: number },
): Promise<void> {
  await cancelJob(tx, subject)
  await addJob(tx, { ...subject, kind: 'removal', account })
}

type Columns = Readonly<Record<string, unknown>>

interface Logged<Shown> extends EventDescription<Shown> {
  readonly record: GroupKind
  /** Columns of a removed record whose values others may use again. */
  readonly freed: Columns
  /** Returns what a restoration needs in addition to the row. */
  readonly keep: (tx: Db, account: number, id: number) => Promise<object>
  /** Changes other records in the transaction of a removal. */
  readonly onRemoval?: (tx: Db, id: number) => Promise<void>
}

/** How a record is deleted. */
interface RemovalOptions {
  readonly precondition: Precondition | null
  readonly isPermanent: boolean
}

/** Changes domains, spaces or tags together with their events. */
export class LoggedRecords<Shown extends Times & { readonly id: number }> {
  readonly #records: Records<Shown>
  readonly #described: Logged<Shown>
  readonly #table: `${GroupKind}s`

  constructor(records: Records<Shown>, described: Logged<Shown>) {
    this.#table = `${described.record}s`
    this.#records = records
    this.#described = described
  }

  /** Stores the event of a new record. */
  async created(tx: Db, actor: Actor, row: Shown): Promise<void> {
    await recordEvents(tx, actor, [createdEvent(this.#described, row)])
  }

  /** Changes the actor's record as `Records.change` does. */
  change(
    db: Db,
    actor: Actor,
    id: number,
    change: Columns,
    precondition: Precondition | null,
  ): Promise<Versioned<Shown> | undefined> {
    return db.write(async (tx) => {
      const before = await this.#records.findForUpdate(tx, actor.account, id)
      if (before === undefined) return undefined
      precondition?.check(before.version)
      const after = await this.#records.change(tx, actor.account, id, change)
      if (after === undefined) return undefined
      await recordEvents(tx, actor, [updatedEvent(this.#described, before.record, after.record)])
      return after
    })
  }

  /**
   * Moves the actor's record out of the account, so that it is gone for all clients, and adds the job that removes it. Returns false
   * if there is no such record. Throws what `precondition` throws for the current version.
   */
  async beginRemoval(
    tx: Db,
    actor: Actor,
    id: number,
    { precondition, isPermanent }: RemovalOptions,
  ): Promise<boolean> {
    const { account } = actor
    const { record, freed, keep } = this.#described
    const found = await this.#records.findForUpdate(tx, account, id)
    if (found === undefined) return false
    precondition?.check(found.version)
    const own = query.selectFrom(this.#table).selectAll().where('id', '=', id).where('account_id', '=', account)
    const [row] = await tx.execute(own)
    const kept = isPermanent ? null : { ...(await keep(tx, account, id)), row }
    if (isPermanent && record !== 'tag') await removeClicks(tx, clickLevels[record], [id])
    if (isPermanent) await eraseEvents(tx, account, record, [id])
    const removal = query.updateTable(this.#table).where('id', '=', id).where('account_id', '=', account)
    await tx.execute(removal.set({ account_id: 0, ...freed }))
    const event = deletedEvent(this.#described, found.record, kept)
    await recordEvents(tx, actor, [isPermanent ? { ...event, kept: erasing } : event])
    await this.#described.onRemoval?.(tx, id)
    await addRemoval(tx, actor.account, { record, record_id: id })
    return true
  }

  /**
   * Stores a deleted row of the actor again, in a new version, or cancels its removal and returns it to the account. `more` is
   * what else the event restores.
   */
  async restore(
    tx: Db,
    actor: Actor,
    row: Row<`${GroupKind}s`>,
    more: Pick<NewEvent, 'changes' | 'kept'> | null = null,
  ): Promise<Shown> {
    const { id, ...columns } = row
    const now = new Date().toISOString()
    const updated_at = row.updated_at < now ? now : row.updated_at
    const restored = { ...columns, account_id: actor.account, updated_at, revision: row.revision + 1 }
    const { record: kind } = this.#described
    // The job first: a step of the removal locks it before the record.
    if (await cancelJob(tx, { record: kind, record_id: id })) {
      const hidden = query.updateTable(this.#table).set(restored).where('id', '=', id)
      await tx.execute(hidden.where('account_id', '=', 0))
    } else {
      await tx.execute(query.insertInto(this.#table).values({ id, ...restored } as never))
    }
    const { record } = (await this.#records.find(tx, actor.account, id)) as Versioned<Shown>
    const event = restoredEvent(this.#described, record)
    await recordEvents(tx, actor, [{ ...event, changes: { ...event.changes, ...more?.changes }, kept: more?.kept }])
    return record
  }

  /** Returns the current values of the account's records with these ids, and locks them in the order of ids. */
  async lockedValues(tx: Db, account: number, ids: readonly number[]): Promise<Map<number, Values>> {
    const values = new Map<number, Values>()
    for (const id of ids.toSorted((a, b) => a - b)) {
      const found = await this.#records.findForUpdate(tx, account, id)
      if (found !== undefined) values.set(id, this.#described.valuesOf(found.record))
    }
    return values
  }
}
