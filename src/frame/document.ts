/** The HTML document around every page of the dashboard and the API reference, and its stylesheets. */
import { readFileSync } from 'node:fs'
import { readCookie, setCookie } from '../http/cookies.ts'
import type { Exchange } from '../http/exchange.ts'
import { type Html, html, type Part } from '../http/html.ts'
import { type IconName, icon, iconSheet } from './icons.ts'

interface Document {
  readonly title: string
  readonly scheme: Scheme
  /** Stylesheets, scripts and other elements of the head. */
  readonly head: Part
  /** The class of the `body` element. */
  readonly className: string
  readonly body: Part
}

/** Renders the whole page. The site's name follows the title. */
export function renderDocument({ title, scheme, head, className, body }: Document): Html {
  const chosen = scheme === 'system' ? null : html` data-scheme="${scheme}"`
  return html`<!doctype html>
<html lang="en"${chosen}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="color-scheme" content="${scheme === 'system' ? 'light dark' : scheme}">
<title>${title} · Waymark</title>
<link rel="icon" href="${iconAddress}" type="image/svg+xml">
${head}
</head>
<body class="${className}">
${iconSheet}
${body}
</body>
</html>
`
}

/** Returns a page that was rendered with the scheme `system` in another scheme. */
export function withScheme(page: string, scheme: Scheme): string {
  if (scheme === 'system') return page
  return page
    .replace('<html lang="en">', `<html lang="en" data-scheme="${scheme}">`)
    .replace('content="light dark"', `content="${scheme}"`)
}

const iconAddress = '/docs/static/icon.svg'

export const brand = html`<a class="brand" href="/app"><img src="${iconAddress}" width="24" height="24" alt="">Waymark</a>`

export const skipLink = html`<a class="skip" href="#main">Skip to content</a>`

interface Rail {
  readonly label: string
  /** Up to four sections, which phones show as a bar. */
  readonly sections: Part
  /** The rest of the column, which phones show as a menu. */
  readonly more: Part
}

/** Renders the navigation column. */
export function navigationRail({ label, sections, more }: Rail): Html {
  return html`<nav class="rail" aria-label="${label}">
${brand}
<ul class="sections">${sections}</ul>
<button type="button" class="button plain more-button" popovertarget="more">${icon('bars')}Menu</button>
<div class="more" id="more" popover>
${more}
</div>
</nav>`
}

export function navigationLink(name: IconName, label: string, href: string, isCurrent = false): Html {
  return html`<li><a href="${href}"${isCurrent ? html` aria-current="page"` : null}>${icon(name)}${label}</a></li>`
}

/** In cascade order; the first file declares the layers. */
const sheets = ['reset', 'tokens', 'base', 'frame', 'phone', 'buttons', 'forms']

/** Returns the stylesheets of the frame. Pages add their own after them. */
export function frameStyles(): string {
  return sheets.map((name) => readFileSync(new URL(`styles/${name}.css`, import.meta.url), 'utf8')).join('')
}

/** The color schemes. `system` follows the browser. */
export const schemes = ['system', 'light', 'dark'] as const

export type Scheme = (typeof schemes)[number]

const cookie = 'waymark_scheme'
const yearInSeconds = 31_536_000

export function readScheme(exchange: Pick<Exchange, 'headers'>): Scheme {
  return schemeNamed(readCookie(exchange, cookie))
}

/** Unknown values mean `system`. */
export function storeScheme(exchange: Exchange, chosen: unknown, isSecure: boolean): void {
  setCookie(exchange, cookie, schemeNamed(chosen), { isSecure, maxAge: yearInSeconds })
}

function schemeNamed(name: unknown): Scheme {
  return schemes.find((scheme) => scheme === name) ?? 'system'
}
