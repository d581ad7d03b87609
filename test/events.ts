/** Events that tests store without a change of a record. */
import { type Actor, createActor } from '../src/access/actor.ts'
import type { NewEvent } from '../src/events/event.ts'
import { recordEvents } from '../src/events/log.ts'
import type { Db } from '../src/storage/port.ts'

/** Returns an API key of an account, in a request of its own. */
export function keyActor(account: number, id = 7): Actor {
  return createActor({ account, kind: 'key', id, name: 'ci', scopes: ['*'] }, `request-${id}`)
}

/** Returns the event of a changed title. */
export function titleChanged(event: Partial<NewEvent> = {}): NewEvent {
  const changes = { title: ['Old', 'New'] } as const
  return { record: 'link', action: 'updated', id: 1, name: 'go.acme.com/summer', changes, ...event }
}

/** Stores events of an actor. */
export async function storeEvents(db: Db, actor: Actor, ...events: readonly Partial<NewEvent>[]): Promise<void> {
  await recordEvents(db, actor, events.map(titleChanged))
}

/** Stores an event of a space in the batch that the examples of the API name. */
export async function storeExampleBatch(db: Db, account: number): Promise<void> {
  const actor = { ...keyActor(account), batchId: 'q1w2e3r4t5y6-a' }
  await storeEvents(db, actor, { record: 'space', name: 'Marketing', changes: { name: ['Old', 'Marketing'] } })
}
