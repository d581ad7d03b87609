/** The frame around the content of each page, and its header fields. */

import { createHash } from 'node:crypto'
import { allows, type Identity } from '../access/actor.ts'
import type { Failure } from '../errors.ts'
import {
  brand,
  navigationLink,
  navigationRail,
  renderDocument,
  type Scheme,
  schemes,
  skipLink,
} from '../frame/document.ts'
import { type IconName, icon } from '../frame/icons.ts'
import type { Exchange, FailureResponse } from '../http/exchange.ts'
import { failures } from '../http/failures.ts'
import type { Fields } from '../http/form-encoding.ts'
import { type Html, html, type Part } from '../http/html.ts'
import { capitalize } from '../lib/format.ts'
import type { Violation } from '../violations.ts'
import { assetFolder } from './assets.ts'
import { hiddenFields, linkButton } from './parts/buttons.ts'
import { formMessages } from './parts/fields.ts'
import { truncateMiddle } from './parts/links.ts'
import { linkListReturnPath } from './return-path.ts'

/** The part of a page that its handler returns. */
export interface FrameContent {
  /** Names the thing and the place: "/summer on go.acme.com". */
  readonly title: string
  /** The `h1`, if it differs from the title. */
  readonly heading?: Part
  /** A line under the heading. */
  readonly subtitle?: Part
  readonly section: Section
  /** The primary action, to the right of the heading. */
  readonly action?: Html | null
  readonly body: Part
  /** Whether browsers without scripts load the page again after some seconds, because its work goes on. */
  readonly isRefreshed?: boolean
}

interface FramedDocument extends FrameContent {
  readonly scheme: Scheme
  readonly notice: Html | null
  readonly account: string
  /** The name of the member or the key. */
  readonly person: string
  /** The other accounts of the person, which the menu offers. */
  readonly otherAccounts: readonly { readonly id: number; readonly name: string }[]
  /** Whether forms use the account's time zone because the person's is unknown. */
  readonly isZoneUnknown: boolean
  /** Decides which sections the navigation shows. */
  readonly actor: Pick<Identity, 'scopes'>
  /** The path of the page with its query. Changing the color scheme returns to it. */
  readonly path: string
}

/** The section of the navigation that a page belongs to. */
export type Section = keyof typeof contentSections | keyof typeof otherSections | 'profile'

/** Phones show the first four as a bar. */
const contentSections = {
  overview: ['Overview', '/app', null],
  links: ['Links', '/app/links', null],
  tags: ['Tags', '/app/tags', null],
  spaces: ['Spaces', '/app/spaces', null],
  domains: ['Domains', '/app/domains', null],
} as const

/** Label, path, and the scope that the page needs if not every role has it. */
const otherSections = {
  history: ['History', '/app/history', null],
  people: ['People', '/app/people', 'members:read'],
  keys: ['API keys', '/app/keys', 'keys:read'],
  account: ['Account', '/app/account', null],
  docs: ['Docs', '/docs/dashboard', null],
  about: ['About', '/app/about', null],
} as const

export function renderFramed(page: FramedDocument): Html {
  const { title, scheme, heading = title, subtitle, action = null, notice, body } = page
  const h1 = html`<h1>${heading}</h1>`
  const content = html`${skipLink}
${navigation(page)}
<main class="sheet" id="main" tabindex="-1"${page.isZoneUnknown ? html` data-zone-unknown` : null}>
${notice}
<header class="head">${subtitle ? html`<hgroup>${h1}<p>${subtitle}</p></hgroup>` : h1}${action}</header>
<div class="content">${body}</div>
</main>`
  const refreshed = page.isRefreshed ? html`${head}<noscript><meta http-equiv="refresh" content="3"></noscript>` : head
  return renderDocument({ title, scheme, head: refreshed, className: 'framed', body: content })
}

/** Renders a small centered page without navigation, such as the sign-in page or an error page. */
export function renderBare({ title, scheme, body }: Pick<FramedDocument, 'title' | 'scheme' | 'body'>): Html {
  const content = html`<main id="main">
${brand}

<h1>${title}</h1>
${body}
</main>`
  return renderDocument({ title, scheme, head, className: 'bare', body: content })
}

const head = html`<meta name="robots" content="noindex">
<link rel="stylesheet" href="${assetFolder}/app.css">
<script type="module" src="${assetFolder}/app.js"></script>`

function navigation(page: FramedDocument): Html {
  const linksTo = (sections: typeof contentSections | typeof otherSections) =>
    Object.entries(sections).flatMap(([name, [label, href, scope]]) =>
      scope === null || allows(page.actor, scope)
        ? navigationLink(name as IconName, label, href, name === page.section)
        : [],
    )
  const content = linksTo(contentSections)
  return navigationRail({
    label: 'Main',
    sections: content.slice(0, 4),
    more: html`<ul class="continued">${content.slice(4)}</ul>
<ul class="others">${linksTo(otherSections)}</ul>
${personMenu(page)}`,
  })
}

/** Renders the menu at the foot of the navigation. On phones, it is a part of the menu with other sections. */
function personMenu({ section, person, account, actor, otherAccounts, scheme, path }: FramedDocument): Html {
  const accountName =
    person === account ? null : html`<p class="muted small"><bdi>${person}</bdi> in <bdi>${account}</bdi></p>`
  return html`<div class="person"><button type="button" class="button bare-icon" popovertarget="person">${icon('person')}<bdi>${person}</bdi><span class="hidden-text">: menu</span></button>
<div class="menu" id="person" popover>${accountName}<ul class="items">
${navigationLink('person', 'Profile', '/app/profile', section === 'profile')}${otherAccounts.map(switchButton)}
<li class="needs-script"><button type="button" popovertarget="person" popovertargetaction="hide" data-keys="${allows(actor, 'links:write') ? 'create' : ''}">${icon('keyboard')}Keyboard shortcuts</button></li>
<li>${schemeForm(scheme, path)}</li>
<li><form method="post" action="/app/sign-out"><button>${icon('leave')}Sign out</button></form></li></ul></div></div>`
}

/** Renders the menu item that continues in another account of the same person. */
function switchButton({ id, name }: { readonly id: number; readonly name: string }): Html {
  return html`
<li><form method="post" action="/app/switch">${hiddenFields({ account: String(id) })}<button>${icon('account')}<span><span class="hidden-text">Switch to </span><bdi>${name}</bdi></span></button></form></li>`
}

function schemeForm(chosen: Scheme, path: string): Html {
  const buttons = schemes.map((scheme) => {
    const label = capitalize(scheme)
    return html`<button name="scheme" value="${scheme}" title="${label}" aria-label="${label}" aria-pressed="${String(scheme === chosen)}">${icon(scheme)}</button>`
  })
  return html`<form method="post" action="/app/scheme" class="schemes">${hiddenFields({ next: path })}<span aria-hidden="true">Theme</span><div role="group" aria-label="Theme">${buttons}</div></form>`
}

/** Allows only resources of this server: no inline scripts or styles, and no framing. */
const contentSecurityPolicy =
  "default-src 'none'; base-uri 'none'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; " +
  "img-src 'self' data:; script-src 'self'; style-src 'self'"

export const responseHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': contentSecurityPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'same-origin',
  'x-robots-tag': 'noindex',
}

export const pageHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  ...responseHeaders,
}

/** Renders a part that is replaced when its fingerprint changes. `id` is unique on the page. */
export function livePart(id: string, content: Html): Html {
  return html`<div class="live" id="live-${id}" data-part="${fingerprintOf(content.text)}">${content}</div>`
}

function fingerprintOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 16)
}

/** Returns a fingerprint of all such parts of a page. Other parts, such as ages and forms, may differ in each response. */
export function fingerprintOfParts(page: Html): string {
  return fingerprintOf([...page.text.matchAll(/ data-(?:part="[^"]*"|refresh\b)/g)].join())
}

/** Returns whether the request comes from the script of an open page, so possibly no one sees the response. */
export function isRefresh({ headers }: Exchange): boolean {
  return headers['x-refresh'] === '1'
}

/** Renders a failure as a page without a frame. */
export function renderFailurePage({ code, message, facts }: Failure, requestId: string): FailureResponse {
  const { status } = failures[code]
  const isNoPage = code === 'route_not_found'
  const title = isNoPage ? pageNotFound : failures[code].title
  // Only server errors are in the log.
  const request = status >= 500 ? html`<p>Request ID: <code>${requestId}</code></p>` : null
  const body = html`${isNoPage ? null : html`<p>${message}</p>`}${request}<p><a href="/app">Go to the overview</a></p>`
  const headers = {
    ...pageHeaders,
    ...(facts.retryAfter !== undefined && { 'retry-after': String(facts.retryAfter) }),
    ...(facts.allow !== undefined && { allow: facts.allow.join(', ') }),
  }
  return { status, headers, body: renderBare({ title, scheme: 'system', body }).text }
}

const pageNotFound = 'Page not found'

/** Returns the content of an error page with a link back to the list `next`. Returns null for server errors. */
export function failureContent(failure: Failure, exchange: Exchange, next: unknown) {
  const { status } = failures[failure.code]
  if (status >= 500) return null
  const [, , name] = exchange.target.split(/[/?]/)
  // The list may need the same scope.
  const isForbidden = failure.code === 'insufficient_scope'
  const section: Section = (!isForbidden && lists.find((list) => list === name)) || 'overview'
  const href = section === 'links' ? linkListReturnPath(next) : section === 'overview' ? '/app' : `/app/${section}`
  const back = linkButton({ label: section === 'overview' ? 'Go to the overview' : `Go to ${section}`, href })
  const { title, sentences } = textFor(failure, exchange)
  const body = html`${sentences.map((sentence) => html`<p>${sentence}</p>`)}<div class="actions">${back}</div>`
  return { title, section, body, status }
}

const lists = ['links', 'domains', 'spaces', 'tags', 'history', 'people', 'keys'] as const

function textFor({ code, message, facts }: Failure, { method, query }: Exchange) {
  if (code === 'route_not_found') return { title: pageNotFound, sentences: [] }
  if (code === 'not_found') return { title: 'Not found', sentences: [`${message} It may have been deleted.`] }
  const isInvalidUrl = method !== 'POST' && facts.violations !== undefined
  const title = method === 'POST' ? 'Nothing was changed' : 'This page can’t be shown'
  if (isInvalidUrl) return { title, sentences: facts.violations?.map((each) => describeParameter(each, query)) ?? [] }
  return { title, sentences: facts.violations ? formMessages(facts.violations) : [message] }
}

/** Names an unknown or invalid parameter of the URL as people see it there, with its value. */
function describeParameter({ field, code, message }: Violation, query: Fields): Html {
  const value = query[field]
  const pair = typeof value === 'string' ? `${field}=${truncateMiddle(value, 80)}` : field
  const sent = html`<code>${pair.replace(/[\p{Cc}\p{Cf}]/gu, encodeURIComponent)}</code>`
  if (code === 'unknown_field') return html`This page doesn’t know the parameter ${sent}. Remove it from the URL.`
  return html`The URL of this page has an invalid value: ${sent}. ${message}`
}
