/** The page for the account: its name, and the time zone of its clicks. */

import { calendarOf } from '../../accounts/calendar.ts'
import { updateAccount } from '../../accounts/store.ts'
import { form, type Rule, required } from '../../forms/form.ts'
import { Type } from '../../forms/json-schema.ts'
import { boundedText } from '../../forms/rules.ts'
import { html } from '../../http/html.ts'
import { parseTimeZone, timeZoneNames } from '../../lib/time-zone.ts'
import type { Storage } from '../../storage/port.ts'
import { Refusal } from '../../violations.ts'
import { type PageContent, type PageHandler, type PageRequest, type Pages, Redirect } from '../page.ts'
import { FormState, selectField, textField } from '../parts/fields.ts'
import { formHandler, guardedForm, valuesIn } from '../record-forms.ts'
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

export function addAccountPage(pages: Pages, { storage: db }: { readonly storage: Storage }): void {
  pages.get(home, null, async (request) => {
    const { name, time_zones } = request.session.account
    return accountPage(new FormState({ name, time_zone: calendarOf(time_zones).timeZone }), request)
  })

  const save: PageHandler = async ({ actor, fields }) => {
    await updateAccount(db, actor, valuesIn(accountForm, fields))
    return new Redirect(home, { code: 'account-saved' })
  }
  pages.post(home, 'account:write', formHandler(accountPage, save))
}

function accountPage(state: FormState, { session }: PageRequest): PageContent {
  const calendar = calendarOf(session.account.time_zones)
  const name = textField(state, { name: 'name', label: 'Name', isRequired: true })
  const zone = selectField(state, {
    name: 'time_zone',
    label: 'Time zone',
    help: 'Sets when days and hours begin in statistics. A change affects later clicks only.',
    options: [...new Set([...timeZoneNames, calendar.timeZone])].map((value) => ({ value, label: value })),
  })
  const controls = html`${state.withErrors(html`${name}${zone}`)}<p class="muted">${timeZoneText(calendar)}</p>`
  const body = guardedForm(home, 'Save account', controls, null)
  return { title: 'Account', section: 'account', body }
}
