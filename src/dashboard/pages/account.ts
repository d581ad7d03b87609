/** The page for the account: its name, the time zone of its clicks, and whether API keys can sign in. */

import { allows } from '../../access/actor.ts'
import { lowestRoleWith } from '../../access/roles.ts'
import { calendarOf } from '../../accounts/calendar.ts'
import { updateAccount } from '../../accounts/store.ts'
import { change, form, required } from '../../forms/form.ts'
import { boundedText, oneOf } from '../../forms/rules.ts'
import { html } from '../../http/html.ts'
import { textWarnings } from '../../names/suspicious-values.ts'
import type { Storage } from '../../storage/port.ts'
import { type PageContent, type PageHandler, type PageRequest, type Pages, Redirect } from '../page.ts'
import { FormState, selectField, textField } from '../parts/fields.ts'
import { timeZoneField, timeZoneRule } from '../parts/time-zones.ts'
import { warningNotes } from '../parts/warnings.ts'
import { formHandler, guardedForm, valuesIn } from '../record-forms.ts'
import { timeZoneText } from '../statistics/clicks-over-time.ts'
import { factList } from './link-facts.ts'

const home = '/app/account'

/** Whether API keys can sign in, by form value. */
const keySignIn = { true: 'Keys with the scope * can sign in', false: 'Keys can’t sign in' } as const
type KeySignIn = keyof typeof keySignIn

const accountForm = form({
  name: required(boundedText(255, 'The name of the account.')),
  time_zone: required(timeZoneRule),
  key_sign_in: change(oneOf(Object.keys(keySignIn) as KeySignIn[], 'Whether API keys can sign in.')),
})

interface Services {
  readonly storage: Storage
  /** Resolves when this process redirects by the new time zone. */
  readonly onAccountChange: () => Promise<void>
}

export function addAccountPage(pages: Pages, { storage: db, onAccountChange }: Services): void {
  pages.get(home, null, async (request) => {
    if (!allows(request.actor, 'account:write')) return accountFacts(request)
    const { name, time_zones, canKeysSignIn } = request.session.account
    const values = { name, time_zone: calendarOf(time_zones).timeZone, key_sign_in: String(canKeysSignIn) }
    return accountPage(new FormState(values), request)
  })

  const save: PageHandler = async ({ actor, fields }) => {
    const { key_sign_in, ...values } = valuesIn(accountForm, fields)
    await updateAccount(db, actor, { ...values, ...(key_sign_in && { key_sign_in: key_sign_in === 'true' }) })
    await onAccountChange()
    return new Redirect(home, 'changes')
  }
  pages.post(home, 'account:write', formHandler(accountPage, save))
}

const labels = { name: 'Name', time_zone: 'Time zone', key_sign_in: 'Sign-in with API keys' } as const

function accountPage(state: FormState, { actor, session }: PageRequest): PageContent {
  const calendar = calendarOf(session.account.time_zones)
  const name = textField(state, { name: 'name', label: labels.name, isRequired: true })
  const zone = timeZoneField(state, {
    label: labels.time_zone,
    help: 'Sets when days and hours begin, in statistics and in the rules of links. A change affects later clicks only.',
    stored: calendar.timeZone,
  })
  const keys = selectField(state, {
    name: 'key_sign_in',
    label: labels.key_sign_in,
    help: 'A key gives everyone who has it the same access, without their name. If keys can’t sign in, their sessions end immediately.',
    options: Object.entries(keySignIn).map(([value, label]) => ({ value, label })),
  })
  const notes = warningNotes(textWarnings('name', session.account.name), actor)('name')
  const controls = html`${state.withErrors(html`${name}${notes}${zone}${keys}`)}<p class="muted">${timeZoneText(calendar)}</p>`
  const body = guardedForm(home, 'Save account', controls, null)
  return { title: 'Account', section: 'account', body }
}

/** Renders the settings for members who can't change them. */
function accountFacts({ session: { account } }: PageRequest): PageContent {
  const calendar = calendarOf(account.time_zones)
  const facts = factList(null, [
    [labels.name, html`<bdi>${account.name}</bdi>`],
    [labels.time_zone, timeZoneText(calendar)],
    [labels.key_sign_in, keySignIn[`${account.canKeysSignIn}`]],
  ])
  const body = html`${facts}<p class="muted">Changing these settings needs the role ${lowestRoleWith('account:write')}.</p>`
  return { title: 'Account', section: 'account', body }
}
