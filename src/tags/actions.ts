import type { Actor } from '../access/actor.ts'
import { sendRecord } from '../api/envelopes.ts'
import { checkedChange, idOf, type ResourceHandlers, withShownVersion } from '../api/operations.ts'
import type { Removals } from '../api/removals.ts'
import type { Api } from '../api/routes.ts'
import { Failure, found, notFound, validationFailed } from '../errors.ts'
import { conditionOf } from '../http/conditions.ts'
import type { Fields } from '../http/form-encoding.ts'
import type { Storage } from '../storage/port.ts'
import type { Precondition } from '../storage/records.ts'
import { finishRemoval } from '../storage/removal.ts'
import type { Edit } from '../storage/undo.ts'
import { Refusal } from '../violations.ts'
import { mergeTag, mergeTagForm, shownTag, storeTag, type Tag, tagOperations, updateTag } from './schema.ts'
import {
  beginTagRemoval,
  changeTag,
  changeTagWithUndo,
  findTag,
  insertTag,
  listTags,
  tagRecords,
  tagRemoval,
  undoTagEdit,
  withExactLinks,
} from './store.ts'

/** The handlers of the API, merging, and changes in the dashboard. */
export type TagActions = ReturnType<typeof tagActions>

/** Returns the functions that validate and store changes of tags, for the API and the dashboard. */
export function tagActions(storage: Storage, removals: Pick<Removals, 'run'>) {
  const find = async (account: number, id: number) => {
    const tag = await findTag(storage, account, id)
    return tag && shownTag(tag)
  }
  const withVersion = <T>(account: number, id: number, change: () => Promise<T>) =>
    withShownVersion(() => find(account, id), 'tag', change)
  const checked = <T>(values: T | Failure, account: number, id: number, precondition: Precondition | null) =>
    checkedChange(values, () => tagRecords.find(storage, account, id), 'tag', precondition)
  const remove = async (account: number, id: number, precondition: Precondition | null, into: number | null) => {
    if (!(await beginTagRemoval(storage, account, id, precondition, into))) throw notFound('tag')
    await removals.run((isStopped) => finishRemoval(storage, tagRemoval, id, isStopped))
  }
  return {
    name: 'tags' as const,
    operations: tagOperations,
    list: (account, page) => listTags(storage, account, page),
    find,
    insertion: ({ account }, fields) => {
      const values = storeTag.check(fields)
      if (values instanceof Failure) throw values
      return async (db) => shownTag(await insertTag(db, account, values))
    },
    change: ({ account }, id, fields, precondition) =>
      withVersion(account, id, async () => {
        const change = await checked(updateTag.check(fields), account, id, precondition)
        const changed = found(await changeTag(storage, account, id, change, precondition), 'tag')
        return shownTag(await withExactLinks(storage, account, changed))
      }),
    /** Changes a tag as `change` does, but so that `undoEdit` can undo that for a minute: see `changeTagWithUndo`. */
    changeWithUndo: async (
      { account }: Actor,
      id: number,
      fields: Fields,
      precondition: Precondition | null,
      edit: Edit,
    ) => {
      const change = await checked(updateTag.check(fields), account, id, precondition)
      return found(await changeTagWithUndo(storage, account, id, change, precondition, edit), 'tag')
    },
    /** Undoes the change of a tag as `undoTagEdit` does. */
    undoEdit: (account: number, edit: number) => undoTagEdit(storage, account, edit, Date.now()),
    /** The links of the tag stay. */
    remove: ({ account }, id, _query, precondition) =>
      withVersion(account, id, () => remove(account, id, precondition, null)),
    /**
     * Moves the links of a tag to the tag `into`, deletes the tag, and returns the remaining one. Throws `not_found`,
     * `validation_failed` and the failure of the precondition.
     */
    merge: ({ account }: Actor, id: number, fields: Fields, precondition: Precondition | null) =>
      withVersion(account, id, async () => {
        const { into } = await checked(mergeInto(id, fields), account, id, precondition)
        await remove(account, id, precondition, into)
        return found(await find(account, into), 'tag')
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
    const condition = conditionOf(exchange)
    return sendRecord(exchange, await tags.merge(actor, idOf(exchange, 'tag'), fields, condition))
  })
}
