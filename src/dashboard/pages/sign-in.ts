/**
 * Signing in and out: with a one-time link, whose token a script takes from the fragment, or with an API key that may do
 * everything.
 */

import { softwareOf } from '../../analytics/capture/software.ts'
import { Failure, type Violation } from '../../errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import type { Keyring } from '../../keys/keyring.ts'
import { type NewSession, removeSession, signInByKey, signInByToken } from '../../sessions/store.ts'
import type { Db } from '../../storage/port.ts'
import { beginSession, endSession, keepScheme, schemeOf } from '../cookies.ts'
import { FormState } from '../form-state.ts'
import { bareOf } from '../frame.ts'
import { Next, type Pages } from '../pages.ts'
import { hiddenFields, submitButton } from '../parts/buttons.ts'
import { textField } from '../parts/fields.ts'
import { openFormNextOf } from '../return-path.ts'

export interface SignInParts {
  readonly db: Db
  readonly keyring: Keyring
  /** Counts an attempt that failed; the failure that answers it if there have been too many from its address. */
  readonly refuse: (exchange: Exchange) => Failure | undefined
}

/** `/app/sign-in` and `/app/sign-out`. */
export function signInPages(pages: Pages, { db, keyring, refuse }: SignInParts): void {
  pages.open('GET', '/app/sign-in', async (exchange) => {
    const session = await pages.sessionOf(exchange)
    const next = openFormNextOf((exchange.query as Fields).next)
    return pages.send(exchange, 200, signInPage(exchange, { next, account: session?.account.name ?? null }))
  })

  pages.receive('/app/sign-in', async (exchange, fields) => {
    const next = openFormNextOf(fields.next)
    const begun = await begin(fields, browserOf(exchange.headers['user-agent']))
    const before = await pages.sessionOf(exchange)
    if (begun instanceof NotSignedIn) {
      // Somebody who follows the link a second time in the same browser is signed in already.
      if (before !== undefined && fields.token !== undefined)
        return pages.goTo(exchange, new Next(next, { code: 'signed-in' }))
      const tooMany = refuse(exchange)
      if (tooMany !== undefined) return tooMany
      const page = signInPage(exchange, { next, account: before?.account.name ?? null }, begun.violations)
      return pages.send(exchange, 422, page)
    }
    // A session that the browser had before ends: no secret outlives a sign-in.
    if (before !== undefined) await removeSession(db, before.account.id, before.id)
    beginSession(exchange, pages.isSecure(exchange), begun.secret)
    return pages.goTo(exchange, new Next(next))
  })

  pages.act(
    '/app/sign-out',
    async ({ exchange, account, session }) => {
      await removeSession(db, account, session.id)
      endSession(exchange, pages.isSecure(exchange))
      return new Next('/app/sign-in')
    },
    { isLimited: false },
  )

  pages.receive('/app/scheme', async (exchange, fields) => {
    keepScheme(exchange, fields.scheme, pages.isSecure(exchange))
    return pages.goTo(exchange, new Next(openFormNextOf(fields.next)))
  })

  async function begin(fields: Fields, browser: string): Promise<NewSession | NotSignedIn> {
    if (typeof fields.token === 'string' && fields.token !== '') {
      const session = await signInByToken(db, tokenIn(fields.token), browser)
      return session ?? new NotSignedIn('token', usedUp)
    }
    if (typeof fields.api_key !== 'string' || fields.api_key.trim() === '') {
      return new NotSignedIn('api_key', 'Paste an API key, or open a sign-in link.')
    }
    const caller = await keyring.identify(fields.api_key.trim())
    if (caller instanceof Failure) return new NotSignedIn('api_key', caller.message)
    if (!caller.scopes.includes('*')) return new NotSignedIn('api_key', lacksScope)
    return signInByKey(db, caller.account, caller.key, browser)
  }
}

/** Why no one was signed in: a sentence beside the field. */
class NotSignedIn {
  readonly violations: readonly Violation[]
  constructor(field: 'token' | 'api_key', message: string) {
    this.violations = [{ field, code: 'not_allowed', message }]
  }
}

const usedUp = 'This sign-in link has been used or has expired. Get another one.'
const lacksScope = 'This API key lacks the scope *. Sign in with a key that has it.'

/** People may paste the whole address. */
function tokenIn(text: string): string {
  return text.trim().replace(/^.*#/, '')
}

interface Wanted {
  /** Where the browser goes afterwards. */
  readonly next: string
  /** The name of the account that the browser is signed in to; null if it is not. */
  readonly account: string | null
}

/**
 * The two ways to sign in. A script sends the token of a sign-in link by itself, unless somebody is signed in: a link that
 * another person has sent must not put them into that person's account without a word.
 */
function signInPage(exchange: Exchange, { next, account }: Wanted, violations: readonly Violation[] = []): string {
  const state = new FormState({}, violations)
  const link = textField({
    name: 'token',
    label: 'Sign-in link',
    type: 'password',
    help: html`Paste the one that the server printed when it first started. <code>npx waymark login-link</code> prints another. A link works once, for 30 minutes.`,
    state: state.of('token'),
    hasFocus: violations.length === 0,
  })
  const key = textField({
    name: 'api_key',
    label: 'API key',
    type: 'password',
    help: 'It needs the scope *, which includes everything.',
    state: state.of('api_key'),
  })
  return bareOf({
    title: 'Sign in',
    scheme: schemeOf(exchange),
    body: html`${account === null ? null : alreadyIn(account, next)}<form method="post" action="/app/sign-in" class="form" data-sign-in="${account === null ? 'now' : 'ask'}" novalidate>${hiddenFields({ next })}
${link}<div class="actions">${submitButton({ label: 'Sign in with the link' })}</div></form>
<p class="or">or</p>
<form method="post" action="/app/sign-in" class="form" novalidate>${hiddenFields({ next })}
${key}<div class="actions">${submitButton({ label: 'Sign in with the key', weight: 'plain' })}</div></form>`,
  })
}

function alreadyIn(account: string, next: string): Html {
  return html`<p>This browser is signed in to <bdi>${account}</bdi>. <a href="${next}">Go on there</a>, or sign in to another account.</p>
`
}

/** What lists of sessions call a browser: "Firefox on Linux". The user agent itself is not kept. */
export function browserOf(userAgent = ''): string {
  const { browser, operating_system } = softwareOf(userAgent)
  return operating_system === null ? (browser ?? 'Unknown browser') : `${browser ?? 'Browser'} on ${operating_system}`
}
