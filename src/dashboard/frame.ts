/** The HTML document around the content of each page, and its header fields. */
import { type Html, html, type Part } from '../http/html.ts'
import { assetFolder } from './assets.ts'
import { attributes, hiddenFields } from './parts/buttons.ts'
import { type IconName, icon } from './parts/icons.ts'

/** The color schemes. `system` follows the browser. */
export const schemes = ['system', 'light', 'dark'] as const

export type Scheme = (typeof schemes)[number]

/** The part of a page that its handler returns. */
export interface FrameContent {
  /** Names the thing and the place: "/summer on go.acme.com". */
  readonly title: string
  /** The `h1`, if it differs from the title. */
  readonly heading?: Part
  readonly place: Place
  /** The primary action, to the right of the heading. */
  readonly action?: Html
  readonly body: Part
}

interface FramedDocument extends FrameContent {
  readonly scheme: Scheme
  readonly notice: Html | null
  readonly account: string
  /** The path of the page with its query. Changing the color scheme returns to it. */
  readonly path: string
}

/** The section of the navigation that a page belongs to. */
export type Place = keyof typeof mainPlaces | keyof typeof otherPlaces

const mainPlaces = {
  overview: ['Overview', '/app'],
  links: ['Links', '/app/links'],
  domains: ['Domains', '/app/domains'],
  spaces: ['Spaces', '/app/spaces'],
} as const

const otherPlaces = {
  keys: ['Keys', '/app/keys'],
  sessions: ['Sessions', '/app/sessions'],
  docs: ['API docs', '/docs'],
  about: ['About', '/app/about'],
} as const

export function renderFramed(page: FramedDocument): string {
  const { title, heading = title, action = null, notice, body } = page
  return renderDocument(
    page,
    html`<body class="framed">
<a class="skip" href="#main">Skip to content</a>
${navigation(page)}
<main class="sheet" id="main" tabindex="-1">
${notice}
<header class="head"><h1>${heading}</h1>${action}</header>
<div class="content">${body}</div>
</main>
</body>`,
  )
}

/** Renders a small centered page without navigation, such as the sign-in page or an error page. */
export function renderBare(page: Pick<FramedDocument, 'title' | 'scheme' | 'body'>): string {
  return renderDocument(
    page,
    html`<body class="bare">
<main id="main">
${brand}

<h1>${page.title}</h1>
${page.body}
</main>
</body>`,
  )
}

function renderDocument({ title, scheme }: Pick<FramedDocument, 'title' | 'scheme'>, body: Html): string {
  const chosen = attributes({ lang: 'en', 'data-scheme': scheme === 'system' ? null : scheme })
  return html`<!doctype html>
<html${chosen}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="color-scheme" content="${scheme === 'system' ? 'light dark' : scheme}">
<meta name="robots" content="noindex">
<title>${title} · Waymark</title>
<link rel="icon" href="${iconAddress}" type="image/svg+xml">
<link rel="stylesheet" href="${assetFolder}/app.css">
<script type="module" src="${assetFolder}/app.js"></script>
</head>
${body}
</html>
`.text
}

const iconAddress = '/docs/static/icon.svg'

const brand = html`<a class="brand" href="/app"><img src="${iconAddress}" width="24" height="24" alt="">Waymark</a>`

function navigation({ place, account, scheme, path }: FramedDocument): Html {
  return html`<nav class="rail" aria-label="Main">
${brand}
<ul class="places">${Object.entries(mainPlaces).map((each) => navigationLink(each, place))}</ul>
<button type="button" class="button plain more-button" popovertarget="more">${icon('bars')}Menu</button>
<div class="more" id="more" popover>
<ul class="others">${Object.entries(otherPlaces).map((each) => navigationLink(each, place))}</ul>
<div class="account"><span class="name" title="${account}"><bdi>${account}</bdi></span>
<form method="post" action="/app/sign-out"><button class="link-like">Sign out</button></form>
${schemeForm(scheme, path)}
<button type="button" class="link-like needs-script" data-keys>Keyboard shortcuts</button></div>
</div>
</nav>`
}

function navigationLink([name, [label, href]]: [string, readonly [string, string]], place: Place): Html {
  const current = attributes({ href, 'aria-current': name === place ? 'page' : null })
  return html`<li><a${current}>${icon(name as IconName)}${label}</a></li>`
}

const schemeLabels = { system: 'As the system', light: 'Light', dark: 'Dark' } as const

function schemeForm(chosen: Scheme, path: string): Html {
  const buttons = schemes.map((scheme) => {
    const label = schemeLabels[scheme]
    return html`<button name="scheme" value="${scheme}" title="${label}" aria-label="${label}" aria-pressed="${String(scheme === chosen)}">${icon(scheme)}</button>`
  })
  return html`<form method="post" action="/app/scheme" class="schemes">${hiddenFields({ next: path })}<div role="group" aria-label="Colors">${buttons}</div></form>`
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
