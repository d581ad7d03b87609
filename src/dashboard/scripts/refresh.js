/** Polls until an element loses `data-refresh`. Then replaces it, and the elements whose `data-with` names it. */

import { watchCharts } from './chart.js'
import { announce, fetchPage } from './page.js'

const everyMs = 2_000
/** The number of attempts, which take five minutes. */
const maxAttempts = 150

for (const waiting of document.querySelectorAll('[data-refresh][id]')) void refresh(waiting)

/** @type {(waiting: Element) => Promise<void>} */
async function refresh(waiting) {
  for (let times = 0; times < maxAttempts; times++) {
    await new Promise((resolve) => setTimeout(resolve, everyMs))
    if (!waiting.isConnected) return
    const page = document.hidden ? undefined : await fetchPage(location.href).catch(() => undefined)
    if (page === null) return
    const found = page?.getElementById(waiting.id)
    if (page && found && !found.hasAttribute('data-refresh')) return replace(waiting, found, page)
  }
}

/** @type {(waiting: Element, found: HTMLElement, page: Document) => void} */
function replace(waiting, found, page) {
  for (const other of document.querySelectorAll(`[data-with="${waiting.id}"]`)) {
    const fresh = page.getElementById(other.id)
    if (fresh) other.replaceWith(document.adoptNode(fresh))
  }
  waiting.replaceWith(document.adoptNode(found))
  watchCharts(found)
  announce(found.dataset.arrived ?? '')
}
