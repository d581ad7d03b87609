/** The operations of the API on imports. */
import type { Actor } from '../access/actor.ts'
import { receiveFile } from '../api/body.ts'
import { sendPage } from '../api/envelopes.ts'
import { claimRequest, readIdempotencyKey } from '../api/idempotency.ts'
import { readId } from '../api/operations.ts'
import type { Api } from '../api/routes.ts'
import { readRoutes, sendStored } from '../api/routes.ts'
import { Failure, found, idempotencyInProgress } from '../errors.ts'
import { type PageQuery, toPage } from '../forms/list-query.ts'
import { readCondition, rejectIfMatch } from '../http/conditions.ts'
import { addHeader, formatEntityTag, send, sendJson } from '../http/response.ts'
import type { IdempotentRequests, StoredResponse } from '../idempotency/store.ts'
import type { Semaphore } from '../lib/semaphore.ts'
import type { ImportActions, JobResult, PlanResult } from './actions.ts'
import { fileTypes, type ImportOptions, importOperations, importOptions, maxFileBytes } from './schema.ts'

/** Returns the page of imports to read. */
export function importPageOf(query: PageQuery) {
  return { search: [], searchIn: [], filter: {}, ...toPage(query) }
}

/** Plans an import in the turn of the account, which ends with the plan. Returns the response, maybe before. */
export function planInTurn<T>(
  turns: Pick<Semaphore, 'run'>,
  { account }: Pick<Actor, 'account'>,
  work: () => Promise<{ readonly response: T | PromiseLike<T>; readonly done?: Promise<unknown> }>,
): Promise<T> {
  const begun = Promise.withResolvers<T>()
  const turn = turns.run(async () => {
    const { response, done } = await work()
    begun.resolve(response)
    await done?.catch(() => undefined)
  }, String(account))
  turn.catch(begun.reject)
  return begun.promise
}

const noTurns: Pick<Semaphore, 'run'> = { run: (task) => task() }

const { values: defaults } = importOptions.read({}) as { readonly values: ImportOptions }

function planResponse(listUrl: string, { shown: { record, version }, isDone }: PlanResult): StoredResponse {
  const body = JSON.stringify({ data: record })
  return { status: isDone ? 201 : 202, location: `${listUrl}/${record.id}`, etag: formatEntityTag(version), body }
}

/** Returns a hash of a file, which is computed outside of the event loop. */
async function digest(bytes: Buffer): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', bytes as Buffer<ArrayBuffer>)
  return Buffer.from(hash).toString('base64url')
}

/** Adds the operations on imports. `plans` limits the files that are received and planned. */
export function importRoutes(
  api: Api,
  actions: ImportActions,
  idempotentRequests: IdempotentRequests,
  plans: Semaphore,
): void {
  const { list, plan, rows, apply, proof, cancelProof, undo } = importOperations
  readRoutes(api, 'import', importOperations, {
    list: (account, query) => actions.list(account, importPageOf(query)),
    find: (account, id) => actions.find(account, id),
  })

  api.add(plan, async (exchange, { actor }) => {
    rejectIfMatch(exchange)
    const key = readIdempotencyKey(exchange, actor)
    const { values, violations } = importOptions.read(exchange.query)
    const options = { ...defaults, ...values }
    const listUrl = api.urlOf(exchange, list)
    const media = Object.keys(fileTypes) as (keyof typeof fileTypes)[]
    const advice = plan.file?.advice ?? ''
    // A repetition doesn't wait for the plan.
    const isRepeated = key !== null && (await idempotentRequests.knows(key))
    return planInTurn<Failure | undefined>(isRepeated ? noTurns : plans, actor, async () => {
      const file = await receiveFile(exchange, { media, maxBytes: maxFileBytes, advice })
      if (file instanceof Failure) return { response: file }
      const claim = key === null ? null : claimRequest(exchange, key, [file.type, await digest(file.bytes)])
      const once = claim === null ? undefined : { claim, listUrl }
      const request = { type: fileTypes[file.type], options, violations, once }
      return idempotentRequests.exclusively(claim, async () => {
        const replayed = claim && (await idempotentRequests.find(claim))
        if (replayed) return { response: sendStored(exchange, replayed) }
        if (isRepeated) throw idempotencyInProgress()
        const result = await actions.plan(actor, file.bytes, request)
        const response = planResponse(listUrl, result)
        if (claim !== null) await idempotentRequests.replace(claim, response)
        return { response: sendStored(exchange, { ...response, isReplayed: false }), done: result.done }
      })
    })
  })

  api.add(rows, async (exchange, { actor }) => {
    const condition = readCondition(exchange)
    const id = readId(exchange, 'import')
    const query = rows.query.check(exchange.query)
    if (query instanceof Failure) {
      found(await actions.find(actor.account, id), 'import')
      return query
    }
    const page = await actions.listRows(actor.account, id, query)
    const path = `${api.urlOf(exchange, list)}/${id}/rows`
    return sendPage(exchange, query, page, { path, condition })
  })

  api.add(cancelProof, async (exchange, { actor }) => {
    await actions.cancelProof(actor, readId(exchange, 'import'))
    return send(exchange, 204)
  })

  for (const [operation, run] of [
    [apply, (actor: Actor, id: number) => actions.apply(actor, id)],
    [proof, (actor: Actor, id: number) => actions.proof(actor, id)],
    [undo, (actor: Actor, id: number) => actions.undo(actor, id)],
  ] as const) {
    api.add(operation, async (exchange, { actor }) => {
      rejectIfMatch(exchange)
      const { shown, isDone }: JobResult = await run(actor, readId(exchange, 'import'))
      addHeader(exchange, 'etag', formatEntityTag(shown.version))
      return sendJson(exchange, isDone ? 200 : 202, JSON.stringify({ data: shown.record }))
    })
  }
}
