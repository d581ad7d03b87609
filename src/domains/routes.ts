import { found, idOf, sendPage, sendRecord } from '../api/envelopes.ts'
import { claimOf, idempotencyKeyOf, sendStored } from '../api/idempotency.ts'
import { checkListQuery, pageRequestOf } from '../api/list-query.ts'
import type { Removals } from '../api/removals.ts'
import type { Api } from '../api/routes.ts'
import { Failure, notFound, Refusal, type Violation, validationFailed } from '../errors.ts'
import { send } from '../http/answer.ts'
import { conditionOf } from '../http/conditions.ts'
import type { Fields } from '../http/form-encoding.ts'
import { parseHostName } from '../names/host-name.ts'
import { resources } from '../resources.ts'
import type { Storage } from '../storage/port.ts'
import {
  type Domain,
  domainOperations,
  listDomainsQuery,
  removeDomainQuery,
  storeDomain,
  updateDomain,
} from './schema.ts'
import {
  beginDomainRemoval,
  changeDomain,
  findDomain,
  finishDomainRemoval,
  insertDomain,
  listDomains,
  removeDomain,
} from './store.ts'

export interface DomainParts {
  readonly removals: Removals
  /** Hears of each change before its answer leaves, so that visitors of this process see it at once. */
  readonly onChange: () => Promise<void>
}

/** The five operations on domains. */
export function domainRoutes(api: Api, storage: Storage, { removals, onChange }: DomainParts): void {
  const { list, show, store, put, patch, delete: remove } = domainOperations
  const { kept } = api

  api.add(list, async (exchange, { caller }) => {
    const condition = conditionOf(exchange)
    const query = checkListQuery(exchange.query, listDomainsQuery)
    if (query instanceof Failure) return query
    const page = await listDomains(storage, caller.account, pageRequestOf(query, resources.domains))
    return sendPage(exchange, query, page, { path: api.urlOf(exchange, list), condition })
  })

  api.add(show, async (exchange, { caller }) => {
    const condition = conditionOf(exchange)
    const domain = await findDomain(storage, caller.account, idOf(exchange, 'domain'))
    return sendRecord(exchange, found(domain, 'domain'), condition)
  })

  api.add(store, async (exchange, admitted) => {
    const key = idempotencyKeyOf(exchange)
    const values = storeDomain.check(admitted.fields)
    if (values instanceof Failure) return values
    const claim = claimOf(exchange, admitted, key, storeDomain)
    const { name, ...urls } = values
    return sendStored(exchange, { kept, claim, collection: api.urlOf(exchange, list), onStored: onChange }, (to) =>
      insertDomain(to, admitted.caller.account, name, urls),
    )
  })

  api.add([put, patch], async (exchange, { caller, fields }) => {
    const condition = conditionOf(exchange)
    const id = idOf(exchange, 'domain')
    const { values, violations } = updateDomain.read(fields)
    if (violations.length > 0 || values.name !== undefined) {
      const { record, version } = found(await findDomain(storage, caller.account, id), 'domain')
      condition?.check(version)
      const all = [...violations, ...renaming(record, values.name)]
      if (all.length > 0) return validationFailed(all)
    }
    const domain = found(await changeDomain(storage, caller.account, id, values, condition), 'domain')
    await onChange()
    return sendRecord(exchange, domain)
  })

  api.add(remove, async (exchange, { caller }) => {
    const condition = conditionOf(exchange)
    const query = removeDomainQuery.check(exchange.query as Fields)
    const id = idOf(exchange, 'domain')
    if (query instanceof Failure) {
      const { version } = found(await findDomain(storage, caller.account, id), 'domain')
      condition?.check(version)
      return query
    }
    const remove = query.links === 'delete' ? beginDomainRemoval : removeDomain
    const isRemoved = await remove(storage, caller.account, id, condition)
    if (isRemoved) await onChange()
    if (isRemoved && query.links === 'delete')
      await removals.wait((isStopped) => finishDomainRemoval(storage, id, isStopped))
    return isRemoved ? send(exchange, 204) : notFound('domain')
  })
}

/** A name that is sent back is no rename; any other would look like one that worked. */
function renaming(domain: Domain, sent: string | undefined): Violation[] {
  // A record that was stored under older rules may be sent back as well.
  if (sent === undefined || sent === domain.name || sent === domain.name_unicode) return []
  const name = parseHostName(sent)
  if (!(name instanceof Refusal) && name.name === domain.name) return []
  const message = `The name field cannot be changed: it stays ${domain.name}. Store another domain instead.`
  return [{ field: 'name', code: 'prohibited', message }]
}
