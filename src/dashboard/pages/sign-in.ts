/**
 * Signing in and out: with a one-time link, whose token a script takes from the fragment, or with an API key that may do
 * everything.
 */
import { Failure } from '../../errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import type { Keyring } from '../../keys/keyring.ts'
import { type NewSession, removeSession, signInByKey, signInByToken } from '../../sessions/store.ts'
import type { Db } from '../../storage/port.ts'
import { Attempts } from '../attempts.ts'
import { browserOf } from '../browser.ts'
import { crossSiteFault } from '../cross-site.ts'
import { bareOf } from '../frame.ts'
import { nextOf } from '../next.ts'
import { Next, type Pages, readForm } from '../pages.ts'
import { field } from '../parts/fields.ts'
import { keepScheme, schemeOf } from '../scheme.ts'
import { beginSession, endSession } from '../session-cookie.ts'

export interface SignInParts {
  readonly db: Db
  readonly keyring: Keyring
  readonly address: (exchange: Exchange) => string
}

/** `/app/sign-in` and `/app/sign-out`. */
export function signInPages(pages: Pages, { db, keyring, address }: SignInParts): void {
  const attempts = new Attempts()

  pages.open('GET', '/app/sign-in', async (exchange) => {
    return pages.send(exchange, 200, signInPage(exchange, nextOf((exchange.query as Fields).next), {}))
  })

  pages.open('POST', '/app/sign-in', async (exchange) => {
    const fault = crossSiteFault(exchange, address(exchange))
    if (fault !== undefined) return fault
    const fields = await readForm(exchange)
    if (fields instanceof Failure) return fields
    const tooMany = attempts.refusal(exchange.clientAddress)
    if (tooMany !== undefined) return tooMany
    const next = nextOf(fields.next)
    const begun = await begin(fields, browserOf(exchange.headers['user-agent']))
    if (begun instanceof NotSignedIn) {
      attempts.fail(exchange.clientAddress)
      return pages.send(exchange, 422, signInPage(exchange, next, begun.errors))
    }
    // A session that the browser had before ends: no secret outlives a sign-in.
    const before = await pages.sessionOf(exchange)
    if (before !== undefined) await removeSession(db, before.account.id, before.id)
    beginSession(exchange, pages.isSecure(exchange), begun.secret)
    return pages.goTo(exchange, new Next(next))
  })

  pages.act('/app/sign-out', async ({ exchange, account, session }) => {
    await removeSession(db, account, session.id)
    endSession(exchange, pages.isSecure(exchange))
    return new Next('/app/sign-in')
  })

  pages.open('POST', '/app/scheme', async (exchange) => {
    const fault = crossSiteFault(exchange, address(exchange))
    if (fault !== undefined) return fault
    const fields = await readForm(exchange)
    if (fields instanceof Failure) return fields
    keepScheme(exchange, fields.scheme, pages.isSecure(exchange))
    return pages.goTo(exchange, new Next(nextOf(fields.next)))
  })

  async function begin(fields: Fields, browser: string): Promise<NewSession | NotSignedIn> {
    if (typeof fields.token === 'string' && fields.token !== '') {
      const session = await signInByToken(db, tokenIn(fields.token), browser)
      return session ?? new NotSignedIn({ token: usedUp })
    }
    if (typeof fields.api_key !== 'string' || fields.api_key.trim() === '') {
      return new NotSignedIn({ api_key: 'Paste an API key, or open a sign-in link.' })
    }
    const caller = await keyring.identify(fields.api_key.trim())
    if (caller instanceof Failure) return new NotSignedIn({ api_key: caller.message })
    if (!caller.scopes.includes('*')) return new NotSignedIn({ api_key: lacksScope })
    return signInByKey(db, caller.account, caller.key, browser)
  }
}

/** Why nobody was signed in: a sentence beside each field. */
class NotSignedIn {
  readonly errors: Errors
  constructor(errors: Errors) {
    this.errors = errors
  }
}

interface Errors {
  readonly token?: string
  readonly api_key?: string
}

const usedUp =
  'This sign-in link has been used or has expired. Get another one with "npx waymark login-link" on the server.'
const lacksScope = 'This API key may not do everything. Sign in with a key that has the scope *.'

/** People may paste the whole address. */
function tokenIn(text: string): string {
  return text.trim().replace(/^.*#/, '')
}
