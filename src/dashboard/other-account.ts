/** Forms of another account: people may switch accounts in another tab while a form is open. */

import { found } from '../errors.ts'
import { positiveInteger } from '../forms/rules.ts'
import { type Fields, readText } from '../http/form-encoding.ts'
import { Html, html } from '../http/html.ts'
import { capitalize } from '../lib/format.ts'
import type { OwnAccount } from '../members/store.ts'
import type { Session } from '../sessions/session.ts'
import { switchAccount } from '../sessions/store.ts'
import type { Db } from '../storage/port.ts'
import { type PageContent, signedInMember } from './page.ts'
import { hiddenFields, submitButton } from './parts/buttons.ts'
import { truncateMiddle } from './parts/links.ts'

/** Adds the account of a page to all of its forms, as the field `page_account`. */
export function bindForms(page: Html, account: number): Html {
  const field = hiddenFields({ page_account: String(account) }).text
  // In the finished text, so that no form can lack it.
  return new Html(page.text.replace(/<form\b[^>]*\bmethod="post"[^>]*>/g, (form) => form + field))
}

/** Moves the session to another account of its person. Throws `not_found` if the person isn't a member of it. */
export async function moveSession(db: Db, session: Session, sent: unknown): Promise<void> {
  const account = found(positiveInteger(readText(sent)), 'account')
  const isMoved = await switchAccount(db, session.id, signedInMember(session).person.id, account)
  found(isMoved || undefined, 'account')
}

/** Names of fields that say nothing to people, or must not be shown. */
const hiddenNames = /^(?:next|version|once|shown|listed|confirmed|row-\d+)$|password|secret|token|credential/

/**
 * Returns the page for a form that was opened in another account than that of the session. It keeps the values. `opened` is
 * the account of the form if the person is a member of it. A form from before 0.3 names none.
 */
export function otherAccountPage(path: string, sent: Fields, now: OwnAccount, opened?: OwnAccount): PageContent {
  const texts = Object.entries(sent).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  const files = Object.keys(sent).filter((name) => Buffer.isBuffer(sent[name]))
  const shown = texts.filter(([name, value]) => value !== '' && !hiddenNames.test(name))
  const rows = shown.map(
    ([name, value]) =>
      html`<dt>${capitalize(name.replaceAll('_', ' '))}</dt><dd><bdi>${truncateMiddle(value, 200)}</bdi></dd>`,
  )
  const again = files.map(
    (name) => html`<div class="field"><label>Choose the file again <input type="file" name="${name}"></label></div>`,
  )
  const back =
    opened &&
    submitButton({ label: html`Switch to ${opened.name} and send`, name: 'switch_to', value: String(opened.id) })
  const anyway = submitButton({ label: html`Send in ${now.name}`, weight: 'plain' })
  const encoding = files.length > 0 ? html` enctype="multipart/form-data"` : null
  const body = html`<p>This form was opened in ${opened ? html`<bdi>${opened.name}</bdi>` : 'another account, or before an update'}. Nothing was changed.</p>
<form method="post" action="${path}" class="form"${encoding}>${hiddenFields(Object.fromEntries(texts))}<dl class="facts">${rows}</dl>${again}
<div class="actions">${back ?? null}${anyway}</div></form>`
  return { title: `You have switched to ${now.name}`, section: 'overview', body, status: 409 }
}
