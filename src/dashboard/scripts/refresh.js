/**
 * Fetches the page again until an element with `data-refresh` has changed, and then replaces it together with the elements whose
 * `data-with` names it.
 */

import { watchCharts } from './chart.js'
import { announce, fetchPage } from './page.js'

const everyMs = 2_000
/** The number of attempts, which take five minutes. */
const maxAttempts = 150

export function watchRefreshing() {
  for (const waiting of document.querySelectorAll('[data-refresh]')) if (waiting.id !== '') void refresh(waiting)
}

/** @type {(waiting: Element) => Promise<void>} */
async function refresh(waiting) {
  for (let times = 0; times < maxAttempts; times++) {
    await new Promise((resolve) => setTimeout(resolve, everyMs))
    if (!waiting.isConnected) return
    if (document.hidden) continue
    const page = await fetchPage(location.href).catch(() => undefined)
    if (page === null) return
    const found = page?.getElementById(waiting.id)
    if (!found || found.hasAttribute('data-refresh')) continue
    replaceOthers(waiting.id, page)
    waiting.replaceWith(document.adoptNode(found))
    watchCharts(found)
    announce(found.dataset.arrived ?? '')
    return
  }
}

/**
 * Replaces the elements that change together with the element `id`.
 * @type {(id: string, page: Document | undefined) => void}
 */
function replaceOthers(id, page) {
  for (const other of document.querySelectorAll(`[data-with="${id}"]`)) {
    const fresh = page?.getElementById(other.id)
    if (fresh) other.replaceWith(document.adoptNode(fresh))
  }
}
