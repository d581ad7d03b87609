/** The forms for new and existing links, domains, spaces and tags. */
import { insertRecord, type ResourceHandlers } from '../api/operations.ts'
import { type Domain, domainOperations } from '../domains/schema.ts'
import { domainRecords } from '../domains/store.ts'
import { Failure, found, preconditionFailed } from '../errors.ts'
import { colors, positiveInteger } from '../forms/rules.ts'
import type { Fields } from '../http/form-encoding.ts'
import { type Html, html } from '../http/html.ts'
import { resources } from '../resources.ts'
import { type Space, spaceOperations } from '../spaces/schema.ts'
import { spaceRecords } from '../spaces/store.ts'
import type { Db, Storage } from '../storage/port.ts'
import type { Precondition, Versioned } from '../storage/records.ts'
import { type Tag, tagOperations } from '../tags/schema.ts'
import { tagRecords } from '../tags/store.ts'
import { ListState } from './lists.ts'
import { idParam, type PageContent, type PageRequest, type Pages, Redirect } from './pages.ts'
import { hiddenFields, linkButton, onceField, submitButton } from './parts/buttons.ts'
import { type Choice, FormState, textField } from './parts/fields.ts'
import { colorField } from './parts/links.ts'
import { conflictMessage, type Difference } from './parts/messages.ts'

interface EditForm {
  readonly name: string
  readonly controls: (state: FormState) => Html
  readonly differences: (sent: Fields) => readonly Difference[]
}

export interface RecordForms<Row extends { readonly id: number }> {
  readonly what: 'link' | 'domain' | 'space' | 'tag'
  readonly actions: Pick<ResourceHandlers<Row>, 'find' | 'insertion' | 'onStored'> & {
    /** Changes the record as in `ResourceHandlers`. `edit` is the id with which the dashboard can undo that. */
    readonly change: (
      ...of: Parameters<ResourceHandlers<Row>['change']>
    ) => Promise<Versioned<Row> & { readonly edit?: number | null }>
  }
  readonly initialValues: (request: PageRequest) => Promise<Fields>
  readonly newPage: (state: FormState, request: PageRequest) => Promise<PageContent>
  /** Returns the values of the form for an existing record; its fields by default. */
  readonly valuesOf?: (record: Row) => Fields
  readonly editForm: (record: Row, request: PageRequest) => Promise<EditForm>
}

/** Adds the pages that create and edit records of one kind. */
export function addRecordForms<Row extends { readonly id: number }>(
  pages: Pages,
  db: Db,
  forms: RecordForms<Row>,
): void {
  const { what, actions, newPage, editForm, valuesOf = (record) => ({ ...record }) } = forms
  const home = `/app/${what}s`
  const find = async ({ account }: PageRequest, id: number) => found(await actions.find(account, id), what)

  pages.get(`${home}/new`, async (request) => newPage(new FormState(await forms.initialValues(request)), request))

  pages.post(home, async (request) => {
    const { account, fields } = request
    const stored = await attempt(() => insertRecord(actions, db, account, fields))
    if (!(stored instanceof Failure))
      return new Redirect(`${home}/${stored.record.id}`, { code: `${what}-created`, ids: [stored.record.id] })
    return { ...(await newPage(new FormState(fields, stored.facts.violations), request)), status: 422 }
  })

  pages.get(`${home}/:id/edit`, async (request) => {
    const id = idParam(request, what)
    const { record, version } = await find(request, id)
    const state = new FormState({ ...valuesOf(record), version })
    return { ...editPage(`${home}/${id}`, await editForm(record, request), state, null), place: `${what}s` }
  })

  pages.post(`${home}/:id`, async (request) => {
    const { account, fields } = request
    const { version, ...sent } = fields
    const id = idParam(request, what)
    const path = `${home}/${id}`
    const saved = await attempt(() => actions.change(account, id, sent, preconditionFrom(version)))
    if (!(saved instanceof Failure)) {
      return new Redirect(path, { code: `${what}-saved`, ids: saved.edit ? [id, saved.edit] : [id] })
    }
    const isConflict = saved.code === conflict
    const now = await find(request, id)
    const form = await editForm(now.record, request)
    const state = new FormState({ ...fields, version: now.version }, saved.facts.violations)
    const page = editPage(path, form, state, isConflict ? form.differences(sent) : null)
    return { ...page, place: `${what}s`, status: isConflict ? 409 : 422 }
  })
}

function editPage(
  path: string,
  { name, controls }: EditForm,
  state: FormState,
  differences: readonly Difference[] | null,
) {
  const message = differences && conflictMessage(differences)
  const body = html`${message}<form method="post" action="${path}" class="form" data-guard novalidate>
${hiddenFields({ version: state.field('version').value })}${state.withErrors(controls(state))}
<div class="actions">${submitButton({ label: 'Save' })}${linkButton({ label: 'Cancel', href: path })}</div></form>`
  return { title: `Edit ${name}`, heading: html`Edit <bdi>${name}</bdi>`, body }
}

/** Returns the fields that were sent with another value than the stored one. */
export function differing(fields: readonly (Omit<Difference, 'yours'> & { readonly yours: unknown })[]): Difference[] {
  return fields.filter((field): field is Difference => typeof field.yours === 'string' && field.yours !== field.theirs)
}

/** Returns the forms of spaces and tags, which have a name and a color. */
export function nameAndColor(labels: { readonly name: string; readonly color: string }) {
  const controls = (state: FormState) => {
    const hasFocus = state.field('name').value === ''
    return html`${textField(state, { name: 'name', label: labels.name, hasFocus })}${colorField(state)}`
  }
  const editForm = async ({ name, color }: { readonly name: string; readonly color: number }) => ({
    name,
    controls,
    differences: (sent: Fields) =>
      differing([
        { label: labels.name, yours: sent.name, theirs: name },
        {
          label: labels.color,
          yours: sent.color && (colors[Number(sent.color) - 1] ?? ''),
          theirs: colors[color - 1] ?? '',
        },
      ]),
  })
  return { initialValues: async () => ({ color: 1 }), newControls: controls, editForm }
}

/** Renders the form for a new record, which is posted to the path of the list. */
export function newRecordForm(home: string, label: string, controls: Html): Html {
  return html`<form method="post" action="${home}" class="form" data-guard novalidate>${onceField()}${controls}
<div class="actions">${submitButton({ label })}<a class="button plain" href="${home}">Cancel</a></div></form>`
}

/** Returns the precondition that the record still has the version that the form was opened with; null without one. */
function preconditionFrom(version: unknown): Precondition | null {
  if (version === undefined || version === '') return null
  return {
    check: (present) => {
      if (version !== present) throw preconditionFailed(present)
    },
  }
}

/** Returns the result of the action, or the failure if fields are invalid or someone else has changed the record. */
export async function attempt<T>(action: () => Promise<T>): Promise<T | Failure> {
  try {
    return await action()
  } catch (error) {
    if (!(error instanceof Failure) || (error.code !== conflict && error.facts.violations === undefined)) throw error
    return error
  }
}

const conflict = 'precondition_failed'

export interface Choices {
  readonly domains: readonly Domain[]
  readonly spaces: readonly Space[]
}

/** The id for "no space" in forms. */
export const noSpace = '0'

/** The maximum number of domains and spaces in a select. */
export const maxChoices = 250

/** Returns the first records by name, and the `chosen` ones. Without its selected option, a select would submit another. */
export async function loadChoices(
  storage: Storage,
  account: number,
  chosen: { readonly domains?: readonly unknown[]; readonly spaces?: readonly unknown[] },
): Promise<Choices> {
  const byName = { sort_by: 'name', sort: 'asc' }
  const ofDomains = new ListState('', byName, domainOperations.list.query, resources.domains).request
  const ofSpaces = new ListState('', byName, spaceOperations.list.query, resources.spaces).request
  const [domains, spaces] = await Promise.all([
    domainRecords.list(storage, account, { ...ofDomains, limit: maxChoices }),
    spaceRecords.list(storage, account, { ...ofSpaces, limit: maxChoices }),
  ])
  return {
    domains: await withChosen(domains.rows, chosen.domains, (id) => domainRecords.find(storage, account, id)),
    spaces: await withChosen(spaces.rows, chosen.spaces, (id) => spaceRecords.find(storage, account, id)),
  }
}

/** Returns the newest tags, by name. */
export async function loadTags(storage: Storage, account: number): Promise<readonly Tag[]> {
  const { request } = new ListState('', {}, tagOperations.list.query, resources.tags)
  const { rows } = await tagRecords.list(storage, account, { ...request, limit: maxChoices })
  return rows.toSorted((one, other) => one.name.localeCompare(other.name, 'en'))
}

async function withChosen<Row extends { readonly id: number }>(
  rows: readonly Row[],
  chosen: readonly unknown[] = [],
  find: (id: number) => Promise<Versioned<Row> | undefined>,
): Promise<readonly Row[]> {
  const listed = new Set(rows.map(({ id }) => id))
  const ids = new Set(chosen.flatMap((id) => positiveInteger(String(id)) ?? []))
  const others = await Promise.all([...ids.difference(listed)].map(find))
  return [...rows, ...others.flatMap((found) => found?.record ?? [])]
}

export function spaceChoice({ id, name }: Space): Choice {
  return { value: String(id), label: name }
}

export function domainChoice({ id, name_unicode }: Domain): Choice {
  return { value: String(id), label: name_unicode }
}
