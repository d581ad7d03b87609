/** The pages for domains, spaces and tags: lists, statistics and deletion. */

import { recentDays } from '../../accounts/calendar.ts'
import { countRecentClicks, maxSummedLinks, recentClicksOfTags } from '../../analytics/recent-clicks.ts'
import { found } from '../../errors.ts'
import type { GroupKind } from '../../events/event.ts'
import { type Html, html } from '../../http/html.ts'
import { capitalize, quantity } from '../../lib/format.ts'
import { countLinksIn } from '../../links/store.ts'
import { resources } from '../../resources.ts'
import { countedMatches } from '../../storage/port.ts'
import type { Group, Listed } from '../group.ts'
import { filterBar, ListState, requestsOf } from '../lists.ts'
import { restorableNote } from '../notice-messages.ts'
import { idParam, type PageContent, type PageRequest, type Pages, Redirect } from '../page.ts'
import { actionRow, attributes, controlFor, linkButton, type MenuItem, menu, type Viewer } from '../parts/buttons.ts'
import { manyLinks, permanentBox, readDeletionQuery, requireTyped, typedField } from '../parts/deletion.ts'
import { FormState } from '../parts/fields.ts'
import { timeAgo } from '../parts/format.ts'
import { recentClickCount, truncateMiddle } from '../parts/links.ts'
import { confirmation, emptyState } from '../parts/messages.ts'
import { type Column, table } from '../parts/table.ts'
import { formZone } from '../parts/time-zones.ts'
import { warningNotes } from '../parts/warnings.ts'
import { addRecordForms, formHandler, newRecordForm } from '../record-forms.ts'
import { breakdownBars, topLinks } from '../statistics/breakdowns.ts'
import { clicksOverTime } from '../statistics/clicks-over-time.ts'
import { Statistics, type StatisticsServices } from '../statistics/statistics.ts'
import { propertyNames } from '../statistics/values.ts'
import { loadRecordHistory } from './history-entries.ts'

export class GroupPages<Row extends { readonly id: number; readonly created_at: string }> {
  readonly #services: StatisticsServices
  readonly #group: Group<Row>
  readonly #section: `${GroupKind}s`
  readonly #home: string

  constructor(services: StatisticsServices, group: Group<Row>) {
    this.#services = services
    this.#group = group
    this.#section = `${group.what}s`
    this.#home = `/app/${this.#section}`
  }

  addTo(pages: Pages): void {
    const { words, newControls } = this.#group
    const newPage = (state: FormState) => {
      const body = newRecordForm(this.#home, words.create, state.withErrors(newControls(state)))
      return { title: words.add, section: this.#section, body }
    }
    addRecordForms<Row>(pages, this.#services.storage, { ...this.#group, newPage })
    pages.get(this.#home, `${this.#section}:read`, (request) => this.#list(request))
    pages.get(`${this.#home}/:id`, `${this.#section}:read`, (request) => this.#show(request))
    const deletion = (state: FormState, request: PageRequest) => this.#askToDelete(state, request)
    const remove = (request: PageRequest) => this.#remove(request)
    pages.get(`${this.#home}/:id/delete`, `${this.#section}:write`, (request) => deletion(new FormState({}), request))
    pages.post(`${this.#home}/:id/delete`, `${this.#section}:write`, formHandler(deletion, remove))
  }

  /** Deletes the group if its name was typed, where required. */
  async #remove(request: PageRequest): Promise<Redirect> {
    const { what, nameOf, isNamed, actions } = this.#group
    const { fields, account } = request
    const row = await this.#requested(request)
    const isMeant = isNamed && ((text: string) => isNamed(row, text))
    if (this.#asksForName(await this.#countLinks(row, account))) requireTyped(fields, nameOf(row), isMeant)
    const query = { ...readDeletionQuery(fields), ...(what === 'domain' && { links: 'delete' }) }
    await actions.remove(request.actor, row.id, query, null)
    return new Redirect(this.#home, 'changes')
  }

  async #requested(request: PageRequest): Promise<Row> {
    const { actions, what } = this.#group
    return found(await actions.find(request.account, idParam(request, what)), what).record
  }

  #pathOf({ id }: Row): string {
    return `${this.#home}/${id}`
  }

  async #list({ account, actor, query }: PageRequest): Promise<PageContent> {
    const { words, actions, listQuery } = this.#group
    const section = this.#section
    const list = new ListState(this.#home, query, listQuery, requestsOf(resources[section]))
    const page = await actions.list(account, list.request)
    const { rows, total } = page
    const add = linkButton({ label: words.add, href: `${this.#home}/new`, weight: 'primary', icon: 'plus' })
    const action = controlFor(actor, `${section}:write`, add)
    const title = capitalize(section)
    if (total === 0 && list.query.search === null) {
      return { title, section, body: emptyState({ title: `No ${section} yet`, why: words.why, action }) }
    }
    const listed = await this.#withFigures(account, rows)
    const nothing =
      list.page > 1
        ? list.emptyPageMessage()
        : html`<p data-count>No ${section} match “${truncateMiddle(list.query.search ?? '', 60)}”.</p>`
    const columns = await this.#group.columns(account, rows)
    const results = html`${this.#table(listed, columns, list, actor)}${list.pagination(page)}`
    const body = html`${filterBar(list, `Search ${section}`, [])}
<div id="results" class="results">${rows.length === 0 ? nothing : results}</div>`
    return { title, section, action, body }
  }

  async #withFigures(account: number, rows: readonly Row[]): Promise<Listed<Row>[]> {
    const { what, linksOf } = this.#group
    if (what === 'tag') {
      const listed = rows.map((row) => ({ row, links: linksOf?.(row) ?? 0 }))
      const few = listed.filter(({ links }) => links <= maxSummedLinks).map(({ row }) => row.id)
      const sums = await recentClicksOfTags(this.#services.storage, account, few)
      return listed.map((each) => ({
        ...each,
        clicks: each.links > maxSummedLinks ? null : (sums.get(each.row.id) ?? 0),
      }))
    }
    const ids = rows.map(({ id }) => id)
    const [links, clicks] = await Promise.all([
      countLinksIn(this.#services.storage, account, `${what}_id`, ids),
      countRecentClicks(this.#services.storage, account, `${what}s`, ids),
    ])
    return rows.map((row) => ({ row, links: links.get(row.id) ?? 0, clicks: clicks.get(row.id) ?? 0 }))
  }

  #table(rows: readonly Listed<Row>[], columns: readonly Column<Listed<Row>>[], list: ListState, viewer: Viewer): Html {
    const { words, heading, underName } = this.#group
    const now = Date.now()
    const clicks: Column<Listed<Row>> = {
      label: `Clicks (${recentDays} days)`,
      kind: 'number',
      sortBy: 'clicks_30d',
      cell: ({ clicks }) => (clicks === null ? html`<span class="muted">On its page</span>` : recentClickCount(clicks)),
      isPlain: true,
    }
    return table({
      caption: capitalize(this.#section),
      isFitted: true,
      columns: [
        {
          label: 'Name',
          kind: 'lead',
          sortBy: 'name',
          cell: ({ row }) =>
            html`<a class="cover" href="${this.#pathOf(row)}">${heading(row)}</a>${underName?.(row, viewer) ?? null}`,
        },
        ...columns,
        clicks,
        {
          label: words.created,
          leaves: columns.length > 1 ? 2 : 4,
          sortBy: 'id',
          cell: ({ row }) => timeAgo(row.created_at, now),
        },
      ],
      rows,
      sorting: list.sorting,
    })
  }

  async #show(request: PageRequest): Promise<PageContent> {
    const { what, nameOf, heading, details } = this.#group
    const row = await this.#requested(request)
    const shown = {
      title: nameOf(row),
      heading: heading(row),
      section: this.#section,
      action: this.#headActions(row, request.actor),
    }
    const statistics = new Statistics(this.#services, request, { level: what, id: row.id }, this.#pathOf(row), [
      'links',
      ...propertyNames,
    ])
    // Once there have been visits, an empty period is worth showing.
    const hasClicks = await statistics.areWorthShowing()
    const subject = { record: what, id: row.id } as const
    const warnings = await this.#group.actions.warnings(this.#services.storage, request.account, row)
    const change = { form: `${this.#pathOf(row)}/edit`, scope: `${this.#section}:write` } as const
    const notes = warningNotes(warnings, request.actor, change)
    const [above, clicks, history] = await Promise.all([
      details?.(request, row, hasClicks, notes) ?? notes('name'),
      this.#clicksSection(statistics, row, hasClicks),
      loadRecordHistory({ ...this.#services, timeZone: formZone(request) }, request.actor, subject, this.#pathOf(row)),
    ])
    const body = html`${above}${clicks}${history.section}`
    return { ...shown, body, status: statistics.status }
  }

  async #clicksSection(
    statistics: Statistics<'links' | (typeof propertyNames)[number]>,
    { created_at }: Row,
    hasClicks: boolean,
  ): Promise<Html> {
    const parts = hasClicks
      ? await Promise.all([
          clicksOverTime(statistics, created_at),
          topLinks(statistics),
          breakdownBars(statistics, propertyNames),
        ])
      : html`<p class="muted">No clicks in the last 12 months.</p>`
    return html`<section id="clicks"${attributes({ 'data-refresh': !hasClicks && this.#group.what !== 'tag', 'data-arrived': 'First click received' })}><h2>${this.#group.words.statistics}</h2>${parts}</section>`
  }

  #headActions(row: Row, viewer: Viewer): Html | null {
    const { what, nameOf, newLinkQuery, menuItems } = this.#group
    const filter = `${what}_id=${row.id}`
    const newLink = newLinkQuery === undefined ? filter : new URLSearchParams(newLinkQuery(row))
    const path = this.#pathOf(row)
    const ofLinks = <Control>(control: Control) => controlFor(viewer, 'links:write', control)
    const own = <Control>(control: Control) => controlFor(viewer, `${this.#section}:write`, control)
    const create = { label: 'New link', href: `/app/links/new?${newLink}`, weight: 'primary', icon: 'plus' } as const
    const items = [
      ...(what === 'domain' ? [own<MenuItem>({ label: 'QR code style', href: `${path}/qr`, icon: 'qr' })] : []),
      ofLinks<MenuItem>({ label: 'Move links to…', href: `/app/links/move?${filter}&archived=any`, icon: 'links' }),
      ...(menuItems?.(row) ?? []).map(own<MenuItem>),
      own<MenuItem>({ label: 'Delete', href: `${path}/delete`, icon: 'remove', isDangerous: true, inDialog: true }),
    ].filter((item) => item !== null)
    return actionRow([
      linkButton({ label: 'View links', href: `/app/links?${filter}` }),
      own(linkButton({ label: 'Edit', href: `${path}/edit` })),
      ofLinks(linkButton(create)),
      items.length === 0 ? null : menu(`${what}-menu`, `More actions for ${nameOf(row)}`, items, 'plain'),
    ])
  }

  /** Counts the links of a group. A number above `countedMatches` stands for any higher one. */
  async #countLinks(row: Row, account: number): Promise<number> {
    const { what, linksOf } = this.#group
    if (what === 'tag') return linksOf?.(row) ?? 0
    return (await countLinksIn(this.#services.storage, account, `${what}_id`, [row.id])).get(row.id) ?? 0
  }

  #asksForName(links: number): boolean {
    return this.#group.isNamed !== undefined || links >= manyLinks
  }

  async #askToDelete(state: FormState, request: PageRequest): Promise<PageContent> {
    const { what, nameOf, deletion } = this.#group
    const row = await this.#requested(request)
    const total = await this.#countLinks(row, request.account)
    const isMore = what !== 'tag' && total > countedMatches
    const links = isMore ? `more than ${quantity(countedMatches, 'link')}` : quantity(total, 'link')
    const [title, ...consequences] = await deletion(row, total, links, request.account)
    const typed = this.#asksForName(total) ? typedField(state, nameOf(row)) : null
    const path = this.#pathOf(row)
    return confirmation({
      title,
      section: this.#section,
      action: `${path}/delete`,
      consequences: [...consequences, restorableNote],
      controls: state.withErrors(html`${permanentBox(state, what !== 'tag')}${typed}`),
      verb: `Delete ${nameOf(row)}`,
      cancel: path,
    })
  }
}
