/**
 * Forms with `data-live` show their answer while somebody types: they fetch the list at its new address, put it in the
 * place of the old one, and leave the focus where it is.
 */
import { announce } from './announce.js'
import { fetchPage } from './page.js'

/** Milliseconds without a key before the list is asked for. */
const pause = 150

export function watchLiveForms() {
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
  // What was typed before this script came.
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
 * Shows what the form finds, unless it is asked for something else in the meantime.
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
    // Asked for something else, or no network: what is shown stays true for its own address.
    if (!signal.aborted) results?.removeAttribute('aria-busy')
  }
}

/**
 * Where the form leads, without what is not filled in.
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
