/** Parts of a page that `scripts/refresh.js` replaces while the page is open. */
import { createHash } from 'node:crypto'
import type { Exchange } from '../http/exchange.ts'
import { type Html, html } from '../http/html.ts'

/** Renders a part that is replaced when its fingerprint changes. `id` is unique on the page. */
export function livePart(id: string, content: Html): Html {
  return html`<div class="live" id="live-${id}" data-part="${fingerprintOf(content.text)}">${content}</div>`
}

function fingerprintOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 16)
}

/** Returns a fingerprint of all such parts of a page. Other parts, such as ages and forms, may differ in each response. */
export function fingerprintOfParts(page: string): string {
  return fingerprintOf([...page.matchAll(/ data-(?:part="[^"]*"|refresh\b)/g)].join())
}

/** Returns whether the request comes from the script of an open page, so possibly no one sees the response. */
export function isRefresh({ headers }: Exchange): boolean {
  return headers['x-refresh'] === '1'
}
