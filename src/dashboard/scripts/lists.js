/**
 * Lists: forms with `data-live` update their results while people type, without moving the focus; selected rows are counted.
 */
import { announce, fetchPage } from './page.js'

/** Milliseconds without a key press before the list is fetched. */
const pause = 150

export function watchSearchForms() {
  /** @type {number | undefined} */
  let timer
  let running = new AbortController()
  /** @type {(form: HTMLFormElement) => void} */
  const ask = (form) => {
    clearTimeout(timer)
    running.abort()
    running = new AbortController()
    void show(form, running.signal)
  }
  document.addEventListener('input', ({ target }) => {
    const form = liveForm(target)
    if (form === null) return
    clearTimeout(timer)
    timer = setTimeout(() => ask(form), target instanceof HTMLSelectElement ? 0 : pause)
  })
  document.addEventListener('submit', (event) => {
    const form = liveForm(event.target)
    if (form === null) return
    event.preventDefault()
    ask(form)
  })
  // People may type before this script has loaded.
  for (const form of document.querySelectorAll('form[data-live]')) {
    const search = form.querySelector('input[type="search"]')
    if (!(form instanceof HTMLFormElement) || !(search instanceof HTMLInputElement)) continue
    if (search.value !== search.defaultValue) ask(form)
  }
}

/** @type {(target: EventTarget | null) => HTMLFormElement | null} */
function liveForm(target) {
  return target instanceof Element ? target.closest('form[data-live]') : null
}

/**
 * Shows the results of the form, unless a later request replaces this one.
 * @type {(form: HTMLFormElement, signal: AbortSignal) => Promise<void>}
 */
async function show(form, signal) {
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

/**
 * Returns the URL that the form requests, without empty fields.
 * @type {(form: HTMLFormElement) => URL}
 */
function addressOf(form) {
  const address = new URL(form.action)
  address.search = ''
  for (const [name, value] of new FormData(form)) {
    if (typeof value === 'string' && value !== '') address.searchParams.append(name, value)
  }
  return address
}

/** Counts selected rows, and selects all rows on the page. */
export function watchSelection() {
  document.addEventListener('change', ({ target }) => {
    const list = target instanceof HTMLInputElement ? target.closest('[data-select]') : null
    if (!(target instanceof HTMLInputElement) || list === null) return
    const all = list.querySelector('[data-select-all]')
    const rows = /** @type {NodeListOf<HTMLInputElement>} */ (list.querySelectorAll('tbody input[type="checkbox"]'))
    if (target === all) for (const row of rows) row.checked = target.checked
    const selected = [...rows].filter(({ checked }) => checked).length
    if (all instanceof HTMLInputElement) {
      all.checked = selected === rows.length
      all.indeterminate = selected > 0 && selected < rows.length
    }
    const words = list.querySelector('[data-number-of]')
    if (words !== null) words.textContent = `${selected} selected`
  })
}
