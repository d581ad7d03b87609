/** The operations of the API on imports. */
import type { Actor } from '../access/actor.ts'
import { receiveFile } from '../api/body.ts'
import { sendPage } from '../api/envelopes.ts'
import { idOf } from '../api/operations.ts'
import type { Api } from '../api/routes.ts'
import { readRoutes } from '../api/routes.ts'
import { Failure } from '../errors.ts'
import { type PageQuery, pageOf } from '../forms/list-query.ts'
import { conditionOf, rejectIfMatch } from '../http/conditions.ts'
import { addHeader, entityTagOf, sendJson } from '../http/response.ts'
import type { Semaphore } from '../lib/semaphore.ts'
import type { ImportActions, JobResult } from './actions.ts'
import { fileTypes, importOperations, importOptions, maxFileBytes } from './schema.ts'

/** Returns the page of imports to read. */
export function importPageOf(query: PageQuery) {
  return { search: [], searchIn: [], filter: {}, ...pageOf(query) }
}

/** Plans an import in the turn of the account, which ends with the plan. Returns the result of `work`, maybe before. */
export function planInTurn<T extends Failure | { readonly done: Promise<unknown> }>(
  turns: Semaphore,
  { account }: Actor,
  work: () => Promise<T>,
): Promise<T> {
  const begun = Promise.withResolvers<T>()
  const turn = turns.run(async () => {
    const result = await work()
    begun.resolve(result)
    if (!(result instanceof Failure)) await result.done.catch(() => undefined)
  }, String(account))
  turn.catch(begun.reject)
  return begun.promise
}

/** Adds the operations on imports. `plans` limits the files that are received and planned. */
export function importRoutes(api: Api, actions: ImportActions, plans: Semaphore): void {
  const { list, plan, rows, apply, proof, undo } = importOperations
  readRoutes(api, 'import', importOperations, {
    list: (account, query) => actions.list(account, importPageOf(query)),
    find: (account, id) => actions.find(account, id),
  })

  api.add(plan, async (exchange, { actor }) => {
    rejectIfMatch(exchange)
    const options = importOptions.check(exchange.query)
    const media = Object.keys(fileTypes) as (keyof typeof fileTypes)[]
    const advice = plan.file?.advice ?? ''
    const result = await planInTurn(plans, actor, async () => {
      const file = await receiveFile(exchange, { media, maxBytes: maxFileBytes, advice })
      if (file instanceof Failure) return file
      if (options instanceof Failure) return options
      return actions.plan(actor, file.bytes, { type: fileTypes[file.type], options })
    })
    if (result instanceof Failure) return result
    const { record, version } = result.shown
    addHeader(exchange, 'location', `${api.urlOf(exchange, list)}/${record.id}`)
    addHeader(exchange, 'etag', entityTagOf(version))
    return sendJson(exchange, result.isDone ? 201 : 202, JSON.stringify({ data: record }))
  })

  api.add(rows, async (exchange, { actor }) => {
    const condition = conditionOf(exchange)
    const query = rows.query.check(exchange.query)
    if (query instanceof Failure) return query
    const id = idOf(exchange, 'import')
    const page = await actions.listRows(actor.account, id, query)
    const path = `${api.urlOf(exchange, list)}/${id}/rows`
    return sendPage(exchange, query, page, { path, condition })
  })

  for (const [operation, run] of [
    [apply, (actor: Actor, id: number) => actions.apply(actor, id)],
    [proof, (actor: Actor, id: number) => actions.proof(actor, id)],
    [undo, (actor: Actor, id: number) => actions.undo(actor, id)],
  ] as const) {
    api.add(operation, async (exchange, { actor }) => {
      rejectIfMatch(exchange)
      const { shown, isDone }: JobResult = await run(actor, idOf(exchange, 'import'))
      addHeader(exchange, 'etag', entityTagOf(shown.version))
      return sendJson(exchange, isDone ? 200 : 202, JSON.stringify({ data: shown.record }))
    })
  }
}
