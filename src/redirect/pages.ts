/** The pages of the redirect server: small, without scripts, and from no other host. */
import { hash } from 'node:crypto'
import { Failure, linkExpired } from '../errors.ts'
import type { FailureFormatter } from '../http/exchange.ts'
import { failureHeaders, failures, formatProblem } from '../http/failures.ts'
import { Html, html } from '../http/html.ts'
import { isLinkable } from '../names/web-url.ts'
import { noStoreHeaders } from './redirects.ts'
import type { ServedLink } from './store.ts'

export const linkNotFound = new Failure('not_found', 'There is no such link.')
export const noHomepage = new Failure('not_found', 'This domain is for short links and has no homepage.')
export const passwordRequired = new Failure('password_required', 'This link requires a password.')
export const wrongPassword = new Failure('password_required', 'Wrong password.')

/** Formats a failure as a page, or as a problem object for clients that prefer JSON. */
export const formatFailureForVisitors: FailureFormatter = (failure, requestId, accept) => {
  if (prefersJson(accept)) {
    const { status, headers, body } = formatProblem(failure, requestId, accept)
    return { status, headers: { ...headers, ...noStoreHeaders }, body }
  }
  const { status } = failures[failure.code]
  const headers = {
    ...failureHeaders(failure),
    ...noStoreHeaders,
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': failure.code === 'password_required' ? formPolicy : pagePolicy,
  }
  return { status, headers, body: pages.get(failure) ?? failurePage(failure, requestId) }
}

/** Whether an Accept header names JSON, and HTML later or not at all. */
function prefersJson(accept = ''): boolean {
  const json = accept.search(/\bapplication\/(?:problem\+)?json\b/i)
  const html = accept.search(/\btext\/html\b/i)
  return json >= 0 && (html < 0 || json < html)
}

function failurePage({ code, message }: Failure, requestId: string): string {
  const { status, title } = failures[code]
  const heading = code === 'rate_limited' ? 'Too many attempts' : title
  // Only failures of the server are logged.
  const request = status < 500 ? null : html`<p>Request ID: <span class="code">${requestId}</span></p>`
  return page(heading, html`<p>${message}</p>${request}`)
}

const style = `
:root {
  color-scheme: light dark;
  --ink: light-dark(oklch(25% 0.02 230), oklch(93% 0.01 230));
  --muted: light-dark(oklch(45% 0.02 230), oklch(74% 0.02 230));
  --line: light-dark(oklch(62% 0.02 230), oklch(55% 0.02 230));
  --ground: light-dark(oklch(97.5% 0.005 195), oklch(19% 0.015 230));
  --raised: light-dark(oklch(100% 0 0), oklch(24% 0.015 230));
  --accent: light-dark(oklch(45% 0.08 195), oklch(80% 0.1 195));
  --on-accent: light-dark(oklch(100% 0 0), oklch(19% 0.03 195));
  --danger: light-dark(oklch(48% 0.17 27), oklch(78% 0.12 25));
}
* { box-sizing: border-box; }
body {
  display: grid;
  min-block-size: 100vh;
  margin: 0;
  padding: 24px;
  place-items: center;
  background: var(--ground);
  color: var(--ink);
  font: 450 0.9375rem / 1.5 system-ui, sans-serif;
}
main {
  inline-size: 100%;
  max-inline-size: 32rem;
  padding: 32px;
  border: 1px solid var(--line);
  border-radius: 10px;
  background: var(--raised);
  overflow-wrap: anywhere;
}
h1 { margin: 0 0 12px; font-size: 1.375rem; font-weight: 650; line-height: 1.2; }
p, dl { margin: 0 0 16px; }
:is(p, dl, form, dd):last-child { margin-block-end: 0; }
dt, label { color: var(--muted); font-size: 0.8125rem; }
dd { margin: 0 0 12px; }
.code { font-family: ui-monospace, monospace; }
.error { color: var(--danger); font-weight: 650; }
a { color: var(--accent); }
label { display: block; margin-block-end: 4px; }
input, button {
  min-block-size: 48px;
  padding: 8px 16px;
  border: 1px solid var(--line);
  border-radius: 6px;
  font: inherit;
  font-size: 1.0625rem;
}
input { inline-size: 100%; margin-block-end: 16px; background: var(--ground); color: var(--ink); }
button { border-color: transparent; background: var(--accent); color: var(--on-accent); font-weight: 650; cursor: pointer; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media (max-width: 30rem) { body { padding: 12px; } main { padding: 24px; } }
`.replace(/\n\s*/g, '')

/** The policy of a page with a form. A `form-action` would also block the redirect after the form. */
const formPolicy = `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; frame-ancestors 'none'`

/** The policy of a page: it may only load its own style. */
export const pagePolicy = `${formPolicy}; form-action 'none'`

const notFoundText = 'Check the address for typos, or ask the person who shared it for the correct link.'
const expiredText = 'Ask the person who shared it for a new link.'
const wrongPasswordText = 'Wrong password. Check it and try again.'

/** Pages that are always the same. Unknown hosts and unknown aliases have the same page. */
const pages = new Map([
  [linkNotFound, page('Link not found', html`<p>${notFoundText}</p>`)],
  [noHomepage, page('Short links', html`<p>${noHomepage.message}</p>`)],
  [linkExpired, page('This link has expired', html`<p>${expiredText}</p>`)],
  [passwordRequired, formPage(null)],
  [wrongPassword, formPage(html`<p class="error" id="error" role="alert">${wrongPasswordText}</p>`)],
])

/** The form has no action, so it is sent to the visited address. */
function formPage(error: Html | null): string {
  const described = error && html` aria-invalid="true" aria-describedby="error"`
  const form = html`<form method="post">
${error}
<label for="password">Password</label>
<input id="password" name="redirect_password" type="password" required autofocus autocomplete="off"${described}>
<button>Open link</button>
</form>`
  return page('Password required', form)
}

/** Returns the page that shows the destination of an active link. */
export function previewPage(
  { destinations: [{ location }], active_period_end_at: end }: ServedLink,
  shortUrl: string,
): string {
  return page(
    'Link preview',
    html`<dl>
${fact('Short link', html`<span class="code">${shortUrl}</span>`)}
${fact('Destination', isLinkable(location) ? html`<a href="${location}" rel="nofollow noreferrer">${location}</a>` : html`${location}`)}
${end === null ? null : fact('Stops working on', time(end))}
</dl>`,
  )
}

function fact(name: string, value: Html): Html {
  return html`<dt>${name}</dt><dd>${value}</dd>`
}

function time(iso: string): Html {
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`
}

function page(title: string, content: Html): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`.text
}
