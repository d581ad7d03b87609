/** The page for the account: its name, and the time zone of its clicks. */
import { updateAccount } from '../../accounts/store.ts'
import { calendarOf } from '../../analytics/calendar.ts'
import { Failure } from '../../errors.ts'
import { form, type Rule, required } from '../../forms/form.ts'
import { Type } from '../../forms/json-schema.ts'
import { boundedText } from '../../forms/rules.ts'
import { html } from '../../http/html.ts'
import { parseTimeZone, timeZoneNames } from '../../lib/time-zone.ts'
import { Refusal } from '../../violations.ts'
import { type PageContent, type PageRequest, type Pages, Redirect, type Services } from '../pages.ts'
import { submitButton } from '../parts/buttons.ts'
import { FormState, selectField, textField } from '../parts/fields.ts'
import { timeZoneText } from '../statistics/clicks-over-time.ts'

const home = '/app/account'

const timeZone: Rule<string> = {
  schema: Type.String(),
  parse: (text) =>
    parseTimeZone(text) ??
    new Refusal('not_allowed', { options: 'the IANA name of a time zone, such as Europe/Berlin' }),
}

const accountForm = form({
  name: required(boundedText(255, 'The name of the account.')),
  time_zone: required(timeZone),
})

export function addAccountPage(pages: Pages, { storage: db }: Services): void {
  pages.get(home, async (request) => {
    const { name, time_zones } = request.session.account
    return accountPage(request, new FormState({ name, time_zone: calendarOf(time_zones).timeZone }))
  })

  pages.post(home, async (request) => {
    const { account, fields } = request
    const values = accountForm.check(fields)
    if (values instanceof Failure) {
      return { ...accountPage(request, new FormState(fields, values.facts.violations)), status: 422 }
    }
    await updateAccount(db, account, values)
    return new Redirect(home, { code: 'account-saved' })
  })
}

function accountPage({ session }: PageRequest, state: FormState): PageContent {
  const calendar = calendarOf(session.account.time_zones)
  const name = textField(state, { name: 'name', label: 'Name', isRequired: true })
  const zone = selectField(state, {
    name: 'time_zone',
    label: 'Time zone',
    help: 'Sets when days and hours begin in statistics. A change affects later clicks only.',
    options: [...new Set([...timeZoneNames, calendar.timeZone])].map((value) => ({ value, label: value })),
  })
  const body = html`<form method="post" action="${home}" class="form" data-guard novalidate>${state.withErrors(html`${name}${zone}`)}
<p class="muted">${timeZoneText(calendar)}</p>
<div class="actions">${submitButton({ label: 'Save account' })}</div></form>`
  return { title: 'Account', place: 'account', body }
}
