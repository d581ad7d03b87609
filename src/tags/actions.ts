import type { Actor } from '../access/actor.ts'
import { sendRecord } from '../api/envelopes.ts'
import type { ResourceHandlers } from '../api/handlers.ts'
import { checkedChange, deletionQuery, withShownVersion } from '../api/handlers.ts'
import { readId } from '../api/operations.ts'
import type { Api } from '../api/routes.ts'
import { Failure, found, notFound, validationFailed } from '../errors.ts'
import { groupReversal } from '../events/group-reversal.ts'
import type { FinishRemoval } from '../events/removal.ts'
import { readCondition } from '../http/conditions.ts'
import type { Fields } from '../http/form-encoding.ts'
import { foldCase } from '../lib/text.ts'
import { textWarnings } from '../names/suspicious-values.ts'
import type { Storage } from '../storage/port.ts'
import type { Precondition } from '../storage/records.ts'
import type { Row } from '../storage/schema.ts'
import { Refusal } from '../violations.ts'
import { mergeTag } from './operations.ts'
import { mergeTagForm, shownTag, storeTag, type Tag, updateTag } from './schema.ts'
import {
  beginTagMerge,
  changeTag,
  findTag,
  insertTag,
  listTags,
  loggedTags,
  tagRecords,
  throwTaken,
  withExactLinks,
} from './store.ts'

/** The handlers of the API, merging, and how events are reversed. */
export type TagActions = ReturnType<typeof tagActions>

/** Returns the functions that validate and store changes of tags, for the API and the dashboard. */
export function tagActions(storage: Storage, finish: FinishRemoval) {
  const find = async (account: number, id: number) => {
    const tag = await findTag(storage, account, id)
    return tag && shownTag(tag)
  }
  const withVersion = <T>({ account }: Actor, id: number, change: () => Promise<T>) =>
    withShownVersion(() => find(account, id), 'tag', change)
  const checked = <T>(values: T | Failure, { account }: Actor, id: number, precondition: Precondition | null) =>
    checkedChange(values, () => tagRecords.find(storage, account, id), 'tag', precondition)
  return {
    name: 'tags' as const,
    list: (account, page) => listTags(storage, account, page),
    find,
    insertion: (actor, fields) => {
      const values = storeTag.check(fields)
      if (values instanceof Failure) throw values
      return async (db) => shownTag(await insertTag(db, actor, values))
    },
    warnings: (_db, _account, { name }) => textWarnings('name', name),
    change: (actor, id, fields, precondition) =>
      withVersion(actor, id, async () => {
        const change = await checked(updateTag.check(fields), actor, id, precondition)
        const changed = found(await changeTag(storage, actor, id, change, precondition), 'tag')
        return shownTag(await withExactLinks(storage, actor.account, changed))
      }),
    /** The links of the tag stay. */
    remove: (actor, id, query, precondition) =>
      withVersion(actor, id, async () => {
        const { permanently } = await checked(deletionQuery.check(query), actor, id, precondition)
        const how = { precondition, isPermanent: permanently }
        if (!(await storage.write((tx) => loggedTags.beginRemoval(tx, actor, id, how)))) throw notFound('tag')
        await finish(actor, id, permanently)
      }),
    /**
     * Moves the links of a tag to the tag `into`, deletes the tag, and returns the remaining one. Throws `not_found`,
     * `validation_failed` and the failure of the precondition.
     */
    merge: (actor: Actor, id: number, fields: Fields, precondition: Precondition | null) =>
      withVersion(actor, id, async () => {
        const { into } = await checked(mergeInto(id, fields), actor, id, precondition)
        if (!(await beginTagMerge(storage, actor, id, precondition, into))) throw notFound('tag')
        await finish(actor, id, false)
        return found(await find(actor.account, into), 'tag')
      }),
    reversal: groupReversal<Tag, { readonly row: Row<'tags'> }>({
      records: loggedTags,
      change: (tx, actor, id, values) => changeTag(tx, actor, id, values, null),
      restore: (tx, actor, { row }) => {
        // Another version may have folded it.
        const folded = { ...row, name_folded: foldCase(row.name) }
        return loggedTags.restore(tx, actor, folded).catch(throwTaken(row.name))
      },
      finish,
    }),
  } satisfies ResourceHandlers<Tag> & Readonly<Record<string, unknown>>
}

function mergeInto(id: number, fields: Fields) {
  const values = mergeTagForm.check(fields)
  if (values instanceof Failure || values.into !== id) return values
  return validationFailed([new Refusal('not_allowed.itself').at('into')])
}

export function tagMergeRoute(api: Api, tags: TagActions): void {
  api.add(mergeTag, async (exchange, { actor, fields }) => {
    const condition = readCondition(exchange)
    return sendRecord(exchange, await tags.merge(actor, readId(exchange, 'tag'), fields, condition))
  })
}
