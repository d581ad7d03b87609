/** Requests with an Idempotency-Key, and their responses. */
import assert from 'node:assert/strict'
import type { Agent } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { type Answer, sendRequest } from './client.ts'
import type { RunningServer } from './processes.ts'

export const resources = ['domains', 'spaces'] as const
export type Resource = (typeof resources)[number]

/** A request and its unique Idempotency-Key. */
export interface Wanted {
  readonly resource: Resource
  readonly idempotencyKey: string
  readonly name: string
}

export function wantedBy(mark: string, resource: Resource): Wanted {
  return { resource, idempotencyKey: `key-${mark}-${resource}`, name: `${mark}.example.com` }
}

export function postOnce({ port }: RunningServer, agent: Agent, key: string, wanted: Wanted): Promise<Answer> {
  const { resource, idempotencyKey, name } = wanted
  const headers = { 'idempotency-key': idempotencyKey }
  return sendRequest({ agent, port, method: 'POST', path: `/api/v1/${resource}` }, { key, headers, form: { name } })
}

/** Repeats the request until it succeeds. Counts the responses with Retry-After. */
export async function settled(ask: () => Promise<Answer>): Promise<{ answer: Answer; waits: number }> {
  for (let waits = 0; ; waits++) {
    const answer = await ask()
    if (answer.status === 201) return { answer, waits }
    assert.ok(['idempotency_in_progress', 'overloaded'].includes(answer.body?.code), answer.text)
    assert.equal(answer.headers['retry-after'], '1')
    await wait(100)
  }
}

export const isReplayed = ({ headers }: Answer) => headers['idempotency-replayed'] === 'true'
