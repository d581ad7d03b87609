/**
 * Refreshes statistics while their page is open. Elements with `data-refresh` wait for the first click. Parts with
 * `data-part` are replaced when their fingerprint changes, except while people use them.
 */
import { watchCharts } from './chart.js'
import { announce } from './page.js'

/** Milliseconds between two requests: while the page waits for the first click, and afterwards. */
const [waitingMs, everyMs] = [2_000, 10_000]
/** The number of requests that wait for the first click, which take five minutes. */
const maxWaits = 150
/** The number of consecutive failures that ends the refresh. */
const maxFailures = 6

/** The entity tag of the last response. */
let entityTag = ''

void keepCurrent()

async function keepCurrent() {
  let failures = 0
  for (let waits = 0; failures < maxFailures; waits++) {
    const isWaiting = document.querySelector('[data-refresh][id]') !== null
    if (!isWaiting && document.querySelector('[data-part]') === null) return
    await pause(isWaiting && waits < maxWaits ? waitingMs : everyMs)
    if (document.hidden || isInUse()) continue
    const outcome = await refresh().catch(() => 'failed')
    if (outcome === 'gone') return
    failures = outcome === 'failed' ? failures + 1 : 0
  }
}

/** @returns {Promise<'current' | 'failed' | 'gone'>} 'gone' if the URL now shows another page, such as the sign-in page. */
async function refresh() {
  const headers = { accept: 'text/html', 'x-refresh': '1', ...(entityTag && { 'if-none-match': entityTag }) }
  const answer = await fetch(location.href, { headers })
  const { status } = answer
  if (status === 304) return 'current'
  if (status === 429 || status >= 500) return 'failed'
  if (!answer.ok || answer.redirected) return 'gone'
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  // People may have started to use a part during the request.
  if (isInUse()) return 'current'
  update(page)
  entityTag = answer.headers.get('etag') ?? ''
  return 'current'
}

/** Waits, but not after the page is shown again. @type {(ms: number) => Promise<void>} */
function pause(ms) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onVisibility)
      resolve()
    }
    const onVisibility = () => {
      if (!document.hidden) end()
    }
    const timer = setTimeout(end, ms)
    document.addEventListener('visibilitychange', onVisibility)
  })
}

/** Whether a menu or a dialog is open, or people type, read a chart or select text in a part. */
function isInUse() {
  if (document.querySelector('dialog[open], :popover-open') !== null) return true
  const selection = getSelection()
  return [...document.querySelectorAll('[data-part], [data-refresh]')].some(
    (part) =>
      part.querySelector('.chart-plot:hover, .chart-reading:not(:empty)') !== null ||
      part.querySelector(':is(input, select, textarea, .chart-plot):focus, details[open] :focus') !== null ||
      [...part.querySelectorAll('input')].some((field) => field.value !== field.defaultValue) ||
      (selection !== null && !selection.isCollapsed && selection.containsNode(part, true)),
  )
}

/** @type {(page: Document) => void} */
function update(page) {
  for (const part of document.querySelectorAll('[data-part][id]')) {
    const fresh = page.getElementById(part.id)
    if (fresh !== null && fresh.dataset.part !== part.getAttribute('data-part')) replace(part, fresh)
  }
  for (const waiting of document.querySelectorAll('[data-refresh][id]')) {
    const fresh = page.getElementById(waiting.id)
    // An import whose file is read has another page.
    if (fresh === null) return location.reload()
    if (fresh.hasAttribute('data-refresh')) continue
    replace(waiting, fresh)
    // The first click adds sections.
    for (const section of page.querySelectorAll('.content > section[id]')) {
      if (document.getElementById(section.id) === null) fresh.after(document.adoptNode(section))
    }
    announce(fresh.dataset.arrived ?? '')
  }
}

const focusable = 'a[href], button, summary, input, select, [tabindex]'

/** Replaces a part. Expanded details, scroll positions and the focus stay. @type {(part: Element, fresh: HTMLElement) => void} */
function replace(part, fresh) {
  const opened = [...part.querySelectorAll('details')].map(({ open }) => open)
  const tables = [...part.querySelectorAll('.chart-scroll')]
  const scrolled = tables.map(({ scrollTop: top, scrollLeft: left }) => ({ top, left }))
  const focused = [...part.querySelectorAll(focusable)].indexOf(document.activeElement ?? part)
  for (const [index, details] of fresh.querySelectorAll('details').entries()) details.open = opened[index] ?? false
  document.adoptNode(fresh)
  watchCharts(fresh)
  part.replaceWith(fresh)
  for (const [index, table] of fresh.querySelectorAll('.chart-scroll').entries()) table.scrollTo(scrolled[index] ?? {})
  const target = fresh.querySelectorAll(focusable)[focused]
  if (target instanceof HTMLElement || target instanceof SVGElement) target.focus({ preventScroll: true })
}
