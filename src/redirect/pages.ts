/**
 * The pages that visitors see when they are not redirected: small, without scripts, and from no other host.
 */
import { Html, html, type Part } from '../http/html.ts'
import type { ServedLink } from './directory.ts'
import { locationOf } from './location.ts'
import { pageStyle } from './page-style.ts'
import { isExpired, isScheduled } from './resolve.ts'

const style = new Html(pageStyle)

/** What there is for an unknown host and for an unknown alias: the same, so that it tells neither from the other. */
export const nothingHere = page(
  'There is no such link',
  html`<p>Check the address for typing mistakes, or ask the person who gave it to you for the right one.</p>`,
)

export const linkExpired = page(
  'This link has expired',
  html`<p>It no longer leads anywhere. Ask the person who gave it to you for a new one.</p>`,
)

/** Asks for the password of a link. The form goes to the address that the page is at. */
export const passwordForm = page('This link asks for a password', form(null))

export const passwordFormAgain = page(
  'This link asks for a password',
  form(html`<p class="error" id="error" role="alert">That is not the password. Check it, and try again.</p>`),
)

function form(error: Html | null): Html {
  const described = error && html` aria-invalid="true" aria-describedby="error"`
  return html`<form method="post">
${error}
<label for="password">Password</label>
<input id="password" name="redirect_password" type="password" required autofocus autocomplete="off"${described}>
<button>Open the link</button>
</form>`
}

/** Where a link leads, for those who want to see that before they follow it. `now` is in Unix milliseconds. */
export function previewPage(link: ServedLink, shortUrl: string, now: number): string {
  const location = locationOf(link.url)
  return page(
    'Where this link leads',
    html`<dl>
${fact('Short link', html`<span class="code">${shortUrl}</span>`)}
${link.title === null ? null : fact('Title', html`<bdi>${link.title}</bdi>`)}
${fact('Leads to', html`<a href="${location}" rel="nofollow noreferrer">${location}</a>`)}
${stateOf(link, now)}
</dl>`,
  )
}

function stateOf(link: ServedLink, now: number): Part {
  if (isScheduled(link, now)) return fact('Starts working on', time(link.startsAt as number))
  if (isExpired(link, now)) {
    const { endsAt } = link
    const isOver = endsAt !== null && endsAt <= now
    return isOver ? fact('Stopped working on', time(endsAt)) : fact('State', html`Used up`)
  }
  return link.endsAt === null ? null : fact('Stops working on', time(link.endsAt))
}

function fact(name: string, value: Html): Html {
  return html`<dt>${name}</dt><dd>${value}</dd>`
}

function time(at: number): Html {
  const iso = new Date(at).toISOString()
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`
}

/** What went wrong, in a sentence. `requestId` leads the operator to it, where it is in the log. */
export function failurePage(title: string, sentence: string, requestId: string | null): string {
  const request = requestId === null ? null : html`<p>Request <span class="code">${requestId}</span></p>`
  return page(title, html`<p>${sentence}</p>${request}`)
}

/** The body of a redirect, for those who do not follow it by themselves. */
export function redirectPage(location: string): string {
  return html`<!doctype html><meta charset="utf-8"><title>Redirect</title><a href="${location}">${location}</a>\n`.text
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
<style>${style}</style>
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
