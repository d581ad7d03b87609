/** The forms for new and existing links, domains, spaces and tags. */
import { insertRecord, type ResourceHandlers } from '../api/handlers.ts'
import { Failure, found, preconditionFailed } from '../errors.ts'
import type { Form } from '../forms/form.ts'
import { colors } from '../forms/rules.ts'
import type { Fields } from '../http/form-encoding.ts'
import { type Html, html, type Part } from '../http/html.ts'
import type { Db } from '../storage/port.ts'
import type { Precondition } from '../storage/records.ts'
import { idParam, type PageContent, type PageHandler, type PageRequest, type Pages, Redirect } from './page.ts'
import { hiddenFields, linkButton, onceField, submitButton } from './parts/buttons.ts'
import { FormState, textField } from './parts/fields.ts'
import { colorChoice } from './parts/links.ts'
import { conflictMessage, type Difference } from './parts/messages.ts'

/** Renders the page with a form. */
type FormPage = (state: FormState, request: PageRequest) => PageContent | Promise<PageContent>

/** Returns the handler of a form. If `submit` throws a failure with violations, the page shows the form again. */
export function formHandler(page: FormPage, submit: PageHandler): PageHandler {
  return async (request) => {
    const result = await attempt(() => submit(request))
    if (!(result instanceof Failure)) return result
    return { ...(await page(new FormState(request.fields, result.facts.violations), request)), status: 422 }
  }
}

interface EditForm {
  readonly name: string
  readonly controls: (state: FormState) => Html
  /** Formats a value of the form to compare two versions of the record; unchanged by default. */
  readonly format?: (field: string, value: string) => Part
}

export interface RecordForms<Row extends { readonly id: number }> {
  readonly what: 'link' | 'domain' | 'space' | 'tag'
  readonly labels: Readonly<Record<string, string>>
  readonly actions: Pick<ResourceHandlers<Row>, 'find' | 'insertion' | 'onStored' | 'change'>
  readonly initialValues: (request: PageRequest) => Promise<Fields>
  readonly newPage: FormPage
  /** Returns the form's values for an existing record; its fields by default. */
  readonly valuesOf?: (record: Row, request: PageRequest) => Fields
  /** Converts form values to API fields. By default, they are the same. */
  readonly fieldsIn?: (values: Fields, request: PageRequest) => Fields
  readonly editForm: (record: Row, request: PageRequest) => Promise<EditForm>
  /** Returns the form after one of its buttons has changed it without saving; null for the button that saves. */
  readonly edited?: (form: Fields) => FormState | null
  /** The maximum number of fields, if a form can have more than others. */
  readonly maxFields?: number
}

/** Adds the pages that create and edit records of one kind. */
export function addRecordForms<Row extends { readonly id: number }>(
  pages: Pages,
  db: Db,
  forms: RecordForms<Row>,
): void {
  const { what, actions, newPage, editForm, valuesOf = (record) => ({ ...record }), fieldsIn = (form) => form } = forms
  const { edited = () => null, maxFields } = forms
  const section = `${what}s` as const
  const home = `/app/${section}`
  const find = async ({ account }: PageRequest, id: number) => found(await actions.find(account, id), what)

  pages.get(`${home}/new`, `${section}:write`, async (request) =>
    newPage(new FormState(await forms.initialValues(request)), request),
  )

  const insert: PageHandler = async (request) => {
    const unsaved = edited(request.fields)
    if (unsaved !== null) return newPage(unsaved, request)
    const { id } = (await insertRecord(actions, db, request.actor, fieldsIn(request.fields, request))).record
    return new Redirect(`${home}/${id}`, 'changes')
  }
  pages.post(home, `${section}:write`, formHandler(newPage, insert), maxFields)

  pages.get(`${home}/:id/edit`, `${section}:write`, async (request) => {
    const id = idParam(request, what)
    const { record, version } = await find(request, id)
    const state = new FormState({ ...valuesOf(record, request), version })
    return { ...editPage(`${home}/${id}`, await editForm(record, request), state), section }
  })

  const update: PageHandler = async (request) => {
    const id = idParam(request, what)
    const path = `${home}/${id}`
    const unsaved = edited(request.fields)
    if (unsaved !== null) {
      const { record } = await find(request, id)
      return { ...editPage(path, await editForm(record, request), unsaved), section }
    }
    const { version, ...form } = request.fields
    const sent = fieldsIn(form, request)
    const saved = await attempt(() => actions.change(request.actor, id, sent, preconditionFrom(version)))
    if (!(saved instanceof Failure)) return new Redirect(path, 'changes')
    const now = await find(request, id)
    const shown = await editForm(now.record, request)
    const state = new FormState({ ...form, version: now.version }, saved.facts.violations)
    if (saved.code !== conflict) return { ...editPage(path, shown, state), section, status: 422 }
    const stored = fieldsIn(valuesOf(now.record, request), request)
    const differences = findDifferences(sent, stored, forms.labels, shown.format)
    return { ...editPage(path, shown, state, conflictMessage(differences)), section, status: 409 }
  }
  pages.post(`${home}/:id`, `${section}:write`, update, maxFields)
}

function editPage(path: string, { name, controls }: EditForm, state: FormState, message: Html | null = null) {
  const version = hiddenFields({ version: state.field('version').value })
  const body = html`${version}${state.withErrors(controls(state))}`
  const form = guardedForm(path, 'Save', body, path, state.focus !== null)
  return { title: `Edit ${name}`, heading: html`Edit <bdi>${name}</bdi>`, body: html`${message}${form}` }
}

/** Returns the fields that were sent with another value than the stored one. */
function findDifferences(
  sent: Fields,
  stored: Fields,
  labels: Readonly<Record<string, string>>,
  format: NonNullable<EditForm['format']> = (_, value) => value,
): Difference[] {
  return Object.entries(stored).flatMap(([field, value]) => {
    const [label, yours, theirs] = [labels[field], sent[field], String(value ?? '')]
    if (label === undefined || typeof yours !== 'string' || yours === theirs) return []
    return { label, yours: format(field, yours), theirs: format(field, theirs) }
  })
}

/** Returns the forms of spaces and tags, which have a name and a color. */
export function nameAndColor(labels: { readonly name: string; readonly color: string }) {
  const newControls = (state: FormState) => {
    const hasFocus = state.field('name').value === ''
    return html`${textField(state, { name: 'name', label: labels.name, hasFocus })}${colorChoice(state)}`
  }
  const format = (field: string, value: string) => (field === 'color' ? (colors[Number(value) - 1] ?? '') : value)
  const editForm = async ({ name }: { readonly name: string }) => ({ name, controls: newControls, format })
  return { labels, initialValues: async () => ({ color: 1 }), newControls, editForm }
}

/** Renders a form with a button. Scripts ask before people leave it with changes: any, or also those of `isChanged`. */
export function guardedForm(
  action: string,
  label: string,
  controls: Html,
  cancel: string | null,
  isChanged = false,
): Html {
  return html`<form method="post" action="${action}" class="form" data-guard="${isChanged ? 'changed' : ''}" novalidate>${controls}
<div class="actions">${submitButton({ label })}${cancel && linkButton({ label: 'Cancel', href: cancel })}</div></form>`
}

/** Renders the form for a new record, which is posted to the path of the list. */
export function newRecordForm(home: string, label: string, controls: Html, isChanged = false): Html {
  return guardedForm(home, label, html`${onceField()}${controls}`, home, isChanged)
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

/** Returns the parsed values. Throws `validation_failed`. */
export function valuesIn<Values>(form: Pick<Form<Values>, 'check'>, fields: Fields): Values {
  const values = form.check(fields)
  if (values instanceof Failure) throw values
  return values
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
