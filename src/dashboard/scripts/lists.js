/** Lists: search forms update their results while people type, without moving the focus. */
import { announce, fetchPage } from './page.js'

/** Milliseconds without a key press before the list is fetched. */
const pause = 150

/** @type {number | undefined} */
let timer
let running = new AbortController()

document.addEventListener('input', ({ target }) => {
  const form = searchForm(target)
  if (form === null) return
  clearTimeout(timer)
  timer = setTimeout(() => search(form), target instanceof HTMLSelectElement ? 0 : pause)
})
document.addEventListener('submit', (event) => {
  const form = searchForm(event.target)
  if (form === null) return
  event.preventDefault()
  search(form)
})
// People may type before this script has loaded.
for (const field of document.querySelectorAll('form[data-live] input[type="search"]')) {
  const form = searchForm(field)
  if (form !== null && field instanceof HTMLInputElement && field.value !== field.defaultValue) search(form)
}

/** @type {(target: EventTarget | null) => HTMLFormElement | null} */
function searchForm(target) {
  return target instanceof Element ? target.closest('form[data-live]') : null
}

/** @type {(form: HTMLFormElement) => void} */
function search(form) {
  clearTimeout(timer)
  running.abort()
  running = new AbortController()
  void showResults(form, running.signal)
}

/** @type {(form: HTMLFormElement, signal: AbortSignal) => Promise<void>} */
async function showResults(form, signal) {
  const address = addressOf(form)
  const id = form.dataset.live ?? ''
  const results = document.getElementById(id)
  results?.setAttribute('aria-busy', 'true')
  try {
    const page = await fetchPage(address, signal)
    const found = page?.getElementById(id)
    if (!results || !page || !found) return location.assign(address)
    results.replaceWith(document.adoptNode(found))
    history.replaceState(history.state, '', address)
    document.title = page.title
    announce(found.querySelector('[data-count]')?.textContent ?? found.querySelector('h2')?.textContent ?? '')
  } catch {
    // A later request, or no network: the current results still match the current URL.
    if (!signal.aborted) results?.removeAttribute('aria-busy')
  }
}

/** @type {(form: HTMLFormElement) => URL} */
function addressOf(form) {
  const filled = [...new FormData(form)].filter(([, value]) => value !== '')
  const address = new URL(form.action)
  address.search = String(new URLSearchParams(/** @type {[string, string][]} */ (filled)))
  return address
}
