/** Imports: the form for a file and the earlier imports, the choices of a plan, and the requests that apply, prove and undo it. */
import { allows } from '../../access/actor.ts'
import { Failure, found, validationFailed } from '../../errors.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import type { ImportActions } from '../../imports/actions.ts'
import { sources } from '../../imports/file-row.ts'
import { vendors } from '../../imports/refusals.ts'
import { stateNames } from '../../imports/report.ts'
import { importPageOf, planInTurn } from '../../imports/routes.ts'
import { type Import, importOperations, importOptions, leftOut, maxFileBytes } from '../../imports/schema.ts'
import { nameOrigin, sourceNames } from '../../imports/source-names.ts'
import type { StoredImport } from '../../imports/store.ts'
import { formatCount, quantity } from '../../lib/format.ts'
import type { Semaphore } from '../../lib/semaphore.ts'
import { DomainChecks } from '../../reachability/checks.ts'
import { Refusal } from '../../violations.ts'
import { loadChoices, loadTagNames } from '../choices.ts'
import { ListState } from '../lists.ts'
import { idParam, type PageContent, type PageRequest, type Pages, Redirect } from '../page.ts'
import { onceField, submitButton } from '../parts/buttons.ts'
import { FormState, fileField, selectField, textArea, textField } from '../parts/fields.ts'
import { timeAgo } from '../parts/format.ts'
import { importSteps } from '../parts/imports.ts'
import { addDomainFirst, confirmation } from '../parts/messages.ts'
import { table } from '../parts/table.ts'
import { accountZone, timeZoneField } from '../parts/time-zones.ts'
import { formHandler, valuesIn } from '../record-forms.ts'
import { changedOptions, openQuestions, planPage, planValues, spaceField } from './import-plan.ts'
import { type ResultServices, readingPage, resultPage } from './import-result.ts'

const home = '/app/import'
/** The rest of the form needs less than the addition. A plan has a control for each column and each unknown host. */
const limits = { maxBytes: maxFileBytes + 64 * 1024, maxFields: 1_000, tooLarge: tooLargeText() }

interface Services extends Omit<ResultServices, 'checks'> {
  readonly imports: ImportActions
  readonly semaphores: { readonly plans: Semaphore }
}

function tooLargeText(): string {
  return `The file is larger than ${maxFileBytes / 1024 / 1024} MB. The command “waymark move plan” reads files of any size.`
}

export function addImportPages(pages: Pages, services: Services): void {
  const { imports } = services
  const checks = new DomainChecks(services)
  const newPage = (state: FormState, request: PageRequest) => filePage(state, request, services)

  pages.get('/app/links/import', 'imports:read', async () => new Redirect(home))
  pages.get(home, 'imports:read', (request) =>
    newPage(new FormState({ source: 'auto', time_zone: accountZone(request) }), request),
  )
  const plan = formHandler(newPage, (request) => planFile(request, services))
  pages.postFiles(home, 'imports:write', plan, limits)

  const showPlan = async (state: FormState | null, request: PageRequest) => {
    const { stored, record } = await requested(request, services)
    if (stored.state === 'planning' || stored.state === 'failed') return readingPage(record)
    return stored.state === 'planned'
      ? planPage({ stored, record, state }, request, services)
      : resultPage({ stored, record }, request, { ...services, checks })
  }
  pages.get(`${home}/:id`, 'imports:read', (request) => showPlan(null, request))
  const change = formHandler(showPlan, (request) => changePlan(request, services))
  pages.post(`${home}/:id`, 'imports:write', change, limits.maxFields)

  pages.post(`${home}/:id/apply`, 'imports:write', async (request) => {
    await imports.apply(request.actor, idParam(request, 'import'))
    return new Redirect(pathOf(request))
  })

  pages.post(`${home}/:id/proof`, 'imports:write', async (request) => {
    await imports.proof(request.actor, idParam(request, 'import'))
    return new Redirect(`${pathOf(request)}#proof`)
  })

  pages.post(`${home}/:id/proof/stop`, 'imports:write', async (request) => {
    await imports.cancelProof(request.actor, idParam(request, 'import')).catch((error) => {
      // The check has ended by itself.
      if (!(error instanceof Failure && error.code === 'import_state')) throw error
    })
    return new Redirect(`${pathOf(request)}#proof`)
  })

  pages.get(`${home}/:id/undo`, 'imports:write', async (request) => undoQuestion(await requested(request, services)))
  pages.post(`${home}/:id/undo`, 'imports:write', async (request) => {
    await imports.undo(request.actor, idParam(request, 'import'))
    return new Redirect(pathOf(request))
  })
}

function pathOf(request: PageRequest): string {
  return `${home}/${idParam(request, 'import')}`
}

async function requested(request: PageRequest, { imports }: Services) {
  const id = idParam(request, 'import')
  const [stored, shown] = await Promise.all([
    imports.findStored(request.account, id),
    imports.find(request.account, id),
  ])
  return { stored: found(stored, 'import'), record: found(shown, 'import').record }
}

async function filePage(state: FormState, request: PageRequest, services: Services): Promise<PageContent> {
  const { storage } = services
  const choices = await loadChoices(storage, request.account, { spaces: [state.values.space_id] })
  const shown = { title: 'Import', heading: 'Import links', section: 'links' } as const
  const earlier = await earlierImports(request, services)
  if (!allows(request.actor, 'imports:write')) return { ...shown, body: earlier ?? html`<p>No imports yet.</p>` }
  if (choices.domains.length === 0) return { ...shown, body: addDomainFirst(request.actor) }
  const file = fileField(state, {
    name: 'file',
    label: 'File',
    accept: '.csv,.tsv,.txt,.json,.ndjson,.sql,text/csv,application/json,application/sql,text/plain',
    help: 'The export of your link shortener, or a spreadsheet as CSV. Up to 16 MB: CSV, JSON or SQL.',
  })
  const text = textArea(state, {
    name: 'text',
    label: 'Or paste rows',
    help: 'Cells of a spreadsheet, with the names of the columns.',
  })
  const from = selectField(state, {
    name: 'source',
    label: 'From',
    options: ['auto' as const, ...sources].map((value) => ({ value, label: sourceNames[value] })),
  })
  const zone = timeZoneField(state, {
    label: 'Time zone of the file',
    help: 'Times in the file without a zone are in this one.',
    stored: accountZone(request),
  })
  const spaces = choices.spaces.length === 0 ? null : spaceField(state, choices)
  const suggestions = await loadTagNames(storage, request.account)
  const tag = textField(state, { name: 'tag', label: 'Tag', help: 'All imported links get it.', suggestions })
  const body = html`${importSteps('file')}<form method="post" action="${home}" enctype="multipart/form-data" class="form" data-guard novalidate>
${onceField()}<p>Nothing is stored yet: the next page shows what would be imported. <a href="/docs/moving">How to move in, service by service</a></p>
${state.withErrors(html`${file}${text}${from}${zone}${spaces}${tag}`)}
<div class="actions">${submitButton({ label: 'Read the file' })}</div></form>${earlier}`
  return { ...shown, body }
}

async function earlierImports(request: PageRequest, { imports }: Services): Promise<Html | null> {
  const { page: at, per_page } = request.query
  const query = { ...(at !== undefined && { page: at }), ...(per_page !== undefined && { per_page }) }
  const list = new ListState(home, query, importOperations.list.query, importPageOf)
  const page = await imports.list(request.account, list.request)
  if (page.total === 0) return null
  const now = Date.now()
  const rows = table({
    caption: 'Imports',
    rows: page.rows,
    columns: [
      {
        label: 'From',
        kind: 'lead',
        cell: ({ id, source }: Import) => html`<a class="cover" href="${home}/${id}">${sourceNames[source]}</a>`,
      },
      { label: 'State', width: 'large', cell: ({ state }) => stateNames[state] },
      { label: 'Rows', kind: 'number', cell: (each) => formatCount(each.rows) },
      { label: 'Created', cell: ({ created_at }) => timeAgo(created_at, now) },
    ],
  })
  return html`<section id="imports"><h2>Imports</h2>${rows}${list.pagination(page)}</section>`
}

/** Plans the import of the file or the pasted rows of a form. Throws `validation_failed`. */
async function planFile(request: PageRequest, services: Services): Promise<Redirect> {
  const { imports, semaphores } = services
  const { actor, fields } = request
  const { file, text, ...given } = fields
  const bytes = file instanceof Buffer && file.length > 0 ? file : Buffer.from(String(text ?? ''))
  if (bytes.length === 0) throw fileFailure('Choose a file, or paste rows.')
  const options = valuesIn(importOptions, given)
  try {
    return await planInTurn(semaphores.plans, actor, async () => {
      const { shown, isDone, done } = await imports.plan(actor, bytes, { type: null, options, isPartial: true })
      const answered = done.then(({ record }) => answerHosts(request, record, services))
      const response = new Redirect(`${home}/${shown.record.id}`)
      return { response: isDone ? answered.then(() => response) : response, done: answered }
    })
  } catch (error) {
    throw error instanceof Failure && error.code === 'malformed_body' ? fileFailure(error.message) : error
  }
}

/**
 * Gives rows without a host the domain of an account that has only one. Leaves out the addresses of services, which can't move,
 * so that rows with another address are imported. What the user has chosen stays.
 */
async function answerHosts(
  { actor, fields }: PageRequest,
  record: Import,
  { imports, storage }: Services,
): Promise<void> {
  const [only, second] = (await loadChoices(storage, actor.account, {})).domains
  const hosts = record.unmapped_hosts.filter((host) => fields[`host.${host}`] === undefined)
  const isSingle = only !== undefined && second === undefined && hosts.includes('*')
  const answers = [
    ...(isSingle ? [['*', only.name]] : []),
    ...hosts.filter((host) => vendors.includes(host)).map((host) => [host, leftOut]),
  ]
  if (answers.length === 0) return
  const stored = found(await imports.findStored(actor.account, record.id), 'import')
  const domain_map = { ...Object.fromEntries(answers), ...stored.options.domain_map }
  await imports.replan(actor, record.id, { domain_map })
}

function fileFailure(reason: string): Failure {
  return validationFailed([new Refusal('not_allowed.file', { reason }).at('file')])
}

/** Plans again with the choices in the form. If they are the plan's own and the button says so, applies it instead. */
async function changePlan(request: PageRequest, services: Services): Promise<Redirect> {
  const { actor, fields } = request
  const { imports } = services
  const { stored } = await requested(request, services)
  const path = pathOf(request)
  if (fields.what !== 'apply' || isChanged(planValues(stored, accountZone(request)), fields)) {
    const { record } = await imports.replan(actor, stored.id, changedOptions(stored, fields))
    await answerHosts(request, record, services)
    return new Redirect(path, { code: fields.what === 'apply' ? 'import-changed' : 'import-planned' })
  }
  const violations = openQuestions(stored)
  if (violations.length > 0) throw validationFailed(violations)
  try {
    await imports.apply(actor, stored.id)
    return new Redirect(path)
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'precondition_failed')) throw error
    await imports.replan(actor, stored.id, {})
    return new Redirect(path, { code: 'import-outdated' })
  }
}

function isChanged(before: Fields, sent: Fields): boolean {
  return Object.entries(before).some(([name, value]) => (sent[name] ?? '') !== value)
}

function undoQuestion({ stored, record }: { readonly stored: StoredImport; readonly record: Import }): PageContent {
  const { store, rename, update } = record.outcomes
  const links = quantity(store + rename, 'link')
  return confirmation({
    title: `Undo the import ${nameOrigin(record.source)}?`,
    section: 'links',
    action: `${home}/${stored.id}/undo`,
    consequences: [
      ...(update > 0 ? [`${quantity(update, 'updated link')} get back the previous values.`] : []),
      ...(store + rename === 0
        ? []
        : [
            `This deletes the ${links} of the import with ${quantity(record.clicks, 'imported click')}, and tags that no other link has.`,
            'Visitors of these links will see a 404 immediately. To import them again, read the file again.',
          ]),
    ],
    verb: 'Undo import',
    cancel: `${home}/${stored.id}`,
  })
}
