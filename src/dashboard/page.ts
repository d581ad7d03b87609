/** A page: its request, its content, and how modules add it to the dashboard. */

import type { Actor, NeededScope } from '../access/actor.ts'
import { Failure, found } from '../errors.ts'
import { positiveInteger } from '../forms/rules.ts'
import type { Exchange, HandlerResult } from '../http/exchange.ts'
import type { Fields } from '../http/form-encoding.ts'
import type { Session } from '../sessions/session.ts'
import type { FrameContent } from './frame.ts'
import type { Notice } from './notice-messages.ts'

export interface PageRequest {
  readonly exchange: Exchange
  readonly session: Session
  readonly account: number
  readonly actor: Actor
  readonly query: Fields
  /** The submitted fields; empty for GET. */
  readonly fields: Fields
}

export interface PageContent extends FrameContent {
  /** 200 by default. */
  readonly status?: number
  /** The redirect for a repeated form. Without it, a repeat does the work again. */
  readonly repeatRedirect?: Redirect
}

/** The next page, with an optional notice to show on it. */
export class Redirect {
  readonly path: string
  readonly notice: Notice | undefined
  /** The batch of the changes that the notice is about. */
  readonly batch: string

  constructor(path: string, notice?: Notice, batch = '') {
    this.path = path
    this.notice = notice
    this.batch = batch
  }
}

/** Handles a request for a page. A thrown `Failure` becomes an error page. */
export type PageHandler = (request: PageRequest) => Promise<PageContent | Redirect>

/** A form's limits with files. */
export interface FormLimits {
  /** Larger than its files may be, so that the form can show the error. */
  readonly maxBytes: number
  readonly maxFields: number
  /** The message if the form is larger. */
  readonly tooLarge?: string
}

/** The scope that the page's operation of the API needs; null if everyone with a session may use the page. */
type PageScope = NeededScope | null

/** The pages for people with a session. Without the scope of a page, the response is 403. */
export interface Pages {
  /** Adds a page for GET. Without a session, redirects to the sign-in page and back afterwards. */
  get(path: string, scope: PageScope, page: PageHandler): void
  /** Adds a file, such as an image, for GET. The handler sends the response. */
  getFile(path: string, scope: PageScope, handler: (request: PageRequest) => Promise<HandlerResult>): void
  /** Adds a page for a form, which has at most 200 fields by default. */
  post(path: string, scope: PageScope, page: PageHandler, maxFields?: number): void
  /** Adds a page for a form with files, whose values are a `Buffer`. */
  postFiles(path: string, scope: PageScope, page: PageHandler, limits?: FormLimits): void
  /** Adds a page for a form that ends a session. It has no rate limit, so that a stolen session can always be ended. */
  postUnlimited(path: string, scope: PageScope, page: PageHandler): void
  /** Returns whether browsers reach the dashboard over HTTPS. */
  isSecure(exchange: Exchange): boolean
  /** Deletes the cookie of a session that has ended. Returns the redirect to the sign-in page. */
  signOut(exchange: Exchange): Redirect
}

/** Returns the member who has signed in. Throws `insufficient_scope` if a key has started the session. */
export function signedInMember({ member }: Session): NonNullable<Session['member']> {
  if (member !== null) return member
  const message = 'Only people can do this. You’re signed in with an API key: sign out, and sign in as a member.'
  throw new Failure('insufficient_scope', message)
}

/** Returns the `{id}` of the path. Throws `not_found` if it is not an id. */
export function idParam({ exchange }: PageRequest, what: string): number {
  return found(positiveInteger(exchange.params.id ?? ''), what)
}
