/**
 * Elements with `data-refresh` wait for something to happen: the page is asked for again until they say another thing. Those whose
 * `data-with` names such an element change with it.
 */
import { announce } from './announce.js'
import { watchCharts } from './chart.js'
import { fetchPage } from './page.js'

const everyMs = 2_000
/** After this many times, nothing is likely to come. */
const maxTimes = 150

export function watchRefreshing() {
  for (const waiting of document.querySelectorAll('[data-refresh]')) if (waiting.id !== '') void refresh(waiting)
}

/** @type {(waiting: Element) => Promise<void>} */
async function refresh(waiting) {
  for (let times = 0; times < maxTimes; times++) {
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
 * Shows what changes with an element as the newer page has it.
 * @type {(id: string, page: Document | undefined) => void}
 */
function replaceOthers(id, page) {
  for (const other of document.querySelectorAll(`[data-with="${id}"]`)) {
    const fresh = page?.getElementById(other.id)
    if (fresh) other.replaceWith(document.adoptNode(fresh))
  }
}
