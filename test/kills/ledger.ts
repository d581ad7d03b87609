/** The requests of a test that kills servers, and their events. */
import assert from 'node:assert/strict'
import type { Answer, Json } from '../client.ts'
import type { LoggedEvent } from '../event-log.ts'

/** A request that makes all of its changes, or none. */
export interface Sent {
  /** The type of each expected event. */
  readonly types: readonly string[]
  /** Requests with this name exclude each other: at most one of them succeeds. */
  readonly rivals?: string
  /** Whether a repetition would finish what a kill has interrupted. */
  readonly isInSteps?: boolean
  /** Sends the request to any server with its Idempotency-Key. */
  readonly repeat?: (headers: Readonly<Record<string, string>>) => Promise<Answer>
}

interface Logged extends Sent {
  /** Null without a response. */
  answer: Answer | null
  /** The records in the response. */
  shown: readonly Json[]
}

/** A response that says nothing about the changes, because the database was too slow. */
export class Unavailable extends Error {}

export class Ledger {
  acknowledged = 0
  readonly #sent = new Map<string, Logged>()

  /** Returns how many requests have no response. */
  get cut(): number {
    return [...this.#sent.values()].filter(({ answer }) => answer === null).length
  }

  /** Returns the request with this id. */
  get(id: string | null): Logged | undefined {
    return this.#sent.get(id ?? '')
  }

  /** Sends a request under its own id. Throws if it fails, unless a rival may have succeeded. */
  async send<Got extends Answer>(
    writer: string,
    sent: Sent,
    ask: (headers: Record<string, string>) => Promise<Got>,
  ): Promise<Got> {
    const id = `${writer}.${this.#sent.size}`
    const logged: Logged = { ...sent, answer: null, shown: [] }
    this.#sent.set(id, logged)
    let answer = await ask(headersFor(id, sent))
    while (answer.status === 503 && /overloaded/i.test(answer.text)) answer = await ask(headersFor(id, sent))
    if (answer.status === 503) throw new Unavailable(answer.text)
    assert.ok(answer.status < (sent.rivals === undefined ? 400 : 500), `${sent.types}: ${answer.text.slice(-500)}`)
    this.#acknowledge(logged, answer)
    return answer
  }

  /** Checks that each request has exactly its events, in one batch. Without a response, it may have none. */
  check(events: readonly LoggedEvent[]): void {
    const byRequest = Map.groupBy(events, ({ requestId }) => requestId)
    const winners = new Set<string>()
    for (const [id, sent] of this.#sent) {
      const isDone = checkEvents(id, sent, byRequest.get(id) ?? [])
      if (!isDone || sent.rivals === undefined) continue
      assert.ok(!winners.has(sent.rivals), `${id}: two requests have succeeded as ${sent.rivals}`)
      winners.add(sent.rivals)
    }
    for (const { requestId, kind, record } of events) {
      // The server stores the first member and the first key at its start.
      const isKnown = requestId === null ? ['member', 'key'].includes(kind) : this.#sent.has(requestId)
      assert.ok(isKnown, `a request ${requestId} with an event of ${record} was never sent`)
    }
  }

  /** Repeats requests. Checks that a response is stored if the changes of the request are stored, and only then. */
  async checkRepetitions(events: readonly LoggedEvent[]): Promise<void> {
    const stored = new Set(events.map(({ requestId }) => requestId))
    const repeatable = [...this.#sent].filter(([, { repeat }]) => repeat !== undefined)
    const cut = repeatable.filter(([, { answer }]) => answer === null)
    for (const [id, sent] of [...repeatable.slice(-40), ...cut]) {
      const before = sent.answer
      const again = await (sent.repeat as Required<Sent>['repeat'])(headersFor(id, sent))
      const isReplayed = again.headers['idempotency-replayed'] === 'true'
      if (before !== null) assert.deepEqual([isReplayed, again.text], [true, before.text], id)
      else {
        assert.deepEqual([isReplayed, again.status < 400], [stored.has(id), true], again.text)
        this.#acknowledge(sent, again)
      }
    }
  }

  #acknowledge(sent: Logged, answer: Answer): void {
    this.acknowledged += 1
    sent.answer = answer
    if (!sent.isInSteps && answer.status < 300) sent.shown = recordsIn(answer, sent.types[0] as string)
  }
}

function headersFor(id: string, { repeat }: Sent): Record<string, string> {
  return { 'x-request-id': id, ...(repeat && { 'idempotency-key': id }) }
}

/** Checks the events of one request. Returns whether the request has made all its changes. */
function checkEvents(id: string, { types, isInSteps, answer, shown }: Logged, own: readonly LoggedEvent[]): boolean {
  assert.equal(new Set(own.map(({ batch }) => batch)).size, Math.min(1, own.length), id)
  assert.equal(new Set(own.map(({ record }) => record)).size, own.length, `${id}: two events of one record`)
  const missing = [...types]
  for (const { kind, action } of own) {
    const at = missing.indexOf(`${kind}.${action}`)
    assert.ok(at >= 0, `${id}: ${kind}.${action} is not one of ${types}`)
    missing.splice(at, 1)
  }
  const isDone = answer === null ? own.length > 0 && !isInSteps : answer.status < 400
  if (isDone) assert.deepEqual(missing, [], id)
  else if (!isInSteps) assert.equal(own.length, 0, id)
  for (const row of shown) assertShown(row, own, types[0] as string, id)
  return isDone
}

/** Returns the changed records in a response, whose first event has this type. Throws if one of several was not changed. */
function recordsIn({ body }: Answer, type: string): Json[] {
  if (body?.data === undefined || !/created|updated/.test(type)) return []
  const rows = [body.data].flat()
  assert.deepEqual(
    rows.filter(({ code }) => code !== undefined),
    [],
  )
  return rows.map((row) => row.data ?? row)
}

/** Checks that a record in a response has the values of its event. */
function assertShown(row: Json, events: readonly LoggedEvent[], type: string, id: string): void {
  const event = events.find(({ record }) => record === `${type.split('.')[0]} ${row.id}`)
  assert.ok(event, `${id}: no event of ${row.id}`)
  for (const [field, [, after]] of Object.entries(event.changes)) {
    assert.deepEqual(row[field], after, `${id}: ${field}`)
  }
}
