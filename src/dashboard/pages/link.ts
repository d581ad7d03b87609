/** One link: its QR code, its statistics, and every field of it. */
import { found } from '../../errors.ts'
import { type Html, html } from '../../http/html.ts'
import { sendQr } from '../../links/qr-route.ts'
import type { Link } from '../../links/schema.ts'
import { linkOf } from '../../links/shown.ts'
import { findLink } from '../../links/store.ts'
import type { Period } from '../charts/period.ts'
import { type Choices, choicesOf } from '../choices.ts'
import { sendClicks } from '../clicks-csv.ts'
import { attempted, FormState, Refused } from '../form-state.ts'
import { linkDifferences, linkFolds, sentFields, valuesOf } from '../link-controls.ts'
import { type Asked, idOf, Next, type Pages, type Shown } from '../pages.ts'
import { hiddenFields, linkButton, submitButton } from '../parts/buttons.ts'
import { collision } from '../parts/collision.ts'
import { confirmLink } from '../parts/confirm.ts'
import { formError } from '../parts/errors.ts'
import { checkbox, textField } from '../parts/fields.ts'
import { csvButton, hasVisits, noClicksYet, periodOf, statistics } from '../statistics.ts'
import { stillAt } from '../versions.ts'
import type { LinkPageParts } from './link-actions.ts'
import { addressActions, identityOf, namesOf } from './link-identity.ts'

const home = '/app/links'

/** `/app/links/{id}`. */
export function linkPage(pages: Pages, { storage, actions, shortUrl }: LinkPageParts): void {
  pages.show(`${home}/:id`, async (asked) => {
    const { link, version } = await linkAsked(asked)
    return shownPage(asked, link, new FormState({ ...valuesOf(link), version }))
  })

  pages.act(`${home}/:id`, async (asked) => {
    const { account, fields } = asked
    const id = idOf(asked, 'link')
    const saved = await attempted(() => actions.change(account, id, sentFields(fields), stillAt(fields.version)))
    if (!(saved instanceof Refused)) return new Next(`${home}/${id}`, { code: 'link-saved' })
    const { link, version } = await linkAsked(asked)
    const state = new FormState({ ...fields, version }, saved.violations)
    const page = await shownPage(asked, link, state, saved.isCollision)
    return { ...page, status: saved.isCollision ? 409 : 422 }
  })

  pages.serve(`${home}/:id/clicks.csv`, async (asked) => {
    const { link } = await linkAsked(asked)
    const subject = { scope: 'link', id: link.id } as const
    return sendClicks(asked, storage, subject, `link-${link.id}-clicks.csv`)
  })

  pages.serve(`${home}/:id/qr`, async (asked) => {
    const { link } = await linkAsked(asked)
    const { download, ...query } = asked.query
    const disposition = download === undefined ? 'inline' : 'attachment'
    const headers = { 'cache-control': 'no-store' }
    return sendQr(asked.exchange, { id: link.id, address: link.short_url, query, disposition, headers }, null)
  })

  async function shownPage(asked: Asked, link: Link, state: FormState, isCollision = false): Promise<Shown> {
    const { period, violations } = periodOf(asked.query)
    const path = `${home}/${link.id}`
    const subject = { scope: 'link', id: link.id } as const
    const of = { db: storage, account: asked.account, subject, period, path }
    const isQuiet = link.clicks === 0 && !(await hasVisits(of))
    const chosen = { spaces: [link.space_id, asked.fields.space_id] }
    const [choices, stats] = await Promise.all([
      choicesOf(storage, asked.account, chosen),
      isQuiet ? null : statistics(of),
    ])
    const space = choices.spaces.find(({ id }) => id === link.space_id)
    const errors = violations.map(({ message }) => formError(message))
    const body = html`${identityOf(link, space, `${path}/qr`)}
${errors}${clicksOf(link, period, stats)}
${form(link, state, choices, isCollision ? collision(linkDifferences(asked.fields, link, choices)) : null)}`
    const status = errors.length > 0 ? 422 : 200
    return { ...namesOf(link), place: 'links', action: addressActions(link), body, status }
  }

  async function linkAsked(asked: Asked): Promise<{ readonly link: Link; readonly version: string }> {
    const { record, version } = found(await findLink(storage, asked.account, idOf(asked, 'link')), 'link')
    return { link: linkOf(record, shortUrl), version }
  }
}

function clicksOf(link: Link, period: Period, stats: Html | null): Html {
  const path = `${home}/${link.id}`
  if (stats === null) {
    return html`<section id="clicks" data-refresh><h2>Clicks</h2>${noClicksYet(link)}</section>`
  }
  const forget = linkButton({ label: 'Forget the clicks', href: `${path}/forget`, inDialog: true })
  return html`<section id="clicks" data-arrived="${link.clicks > 0 ? 'The first click is here' : 'A bot or a link preview was here first'}"><h2>Clicks</h2>${stats}
<div class="actions">${csvButton(path, period)}${forget}</div></section>`
}

function form(link: Link, state: FormState, choices: Choices, clash: Html | null): Html {
  const path = `${home}/${link.id}`
  const url = textField({ name: 'url', label: 'Leads to', type: 'url', state: state.of('url'), isRequired: true })
  const alias = textField({ name: 'alias', label: 'Alias', state: state.of('alias'), isCode: true, isRequired: true })
  const remove = { name: 'remove_password', label: 'Remove the password', state: state.of('remove_password') }
  const more: Record<string, Html> = link.has_redirect_password
    ? { Access: html`<p class="help">A password is set. Leave the field empty to keep it.</p>${checkbox(remove)}` }
    : {}
  return html`<section id="edit"><h2>Edit</h2>${clash}<form method="post" action="${path}" class="form" data-guard novalidate>
${hiddenFields({ version: state.of('version').value })}${state.withErrors(html`${url}${alias}${linkFolds(state, choices, more)}`)}
<div class="actions">${submitButton({ label: 'Save' })}${confirmLink('Delete', `${path}/delete`)}</div></form></section>`
}
