/** Lists: search forms update their results while people type, without moving the focus, and people select rows. */
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

/** The row that was checked or unchecked last: Shift selects the rows from there. @type {HTMLInputElement | null} */
let last = null

document.addEventListener('change', ({ target }) => {
  const list = target instanceof HTMLInputElement ? target.closest('[data-select]') : null
  if (!(target instanceof HTMLInputElement) || list === null) return
  const { selectAll, selectMatching } = target.dataset
  if (selectAll !== undefined || (selectMatching !== undefined && target.checked)) {
    for (const row of rowsIn(list)) row.checked = target.checked
  }
  count(list)
})

// A click with Shift would select text, and Firefox ignores it on the label of a box.
document.addEventListener('mousedown', (event) => {
  const row = event.shiftKey ? rowAt(event.target) : null
  if (row === null) return
  event.preventDefault()
  row.focus()
})
document.addEventListener('click', (event) => {
  const row = rowAt(event.target)
  const list = row?.closest('[data-select]')
  if (!row || !list) return
  if (event.target !== row) {
    if (!event.shiftKey) return
    event.preventDefault()
    row.checked = !row.checked
  }
  const rows = rowsIn(list)
  const [from, to] = [last === null ? -1 : rows.indexOf(last), rows.indexOf(row)].sort((a, b) => a - b)
  last = row
  if (!event.shiftKey || from === undefined || from < 0) return
  for (const each of rows.slice(from, Number(to) + 1)) each.checked = row.checked
  count(list)
})

/** Returns the box of the row whose box or label this is. @type {(target: EventTarget | null) => HTMLInputElement | null} */
function rowAt(target) {
  const label = target instanceof Element ? target.closest('[data-select] tbody .select-cell label') : null
  return label?.querySelector('input') ?? null
}

/** @type {(list: Element) => HTMLInputElement[]} */
function rowsIn(list) {
  return [...list.querySelectorAll('tbody .select-cell input')].filter((box) => box instanceof HTMLInputElement)
}

/** Shows how many rows are selected. @type {(list: Element) => void} */
function count(list) {
  const rows = rowsIn(list)
  const selected = rows.filter(({ checked }) => checked).length
  for (const all of list.querySelectorAll('[data-select-all]')) {
    if (!(all instanceof HTMLInputElement)) continue
    all.checked = selected === rows.length
    all.indeterminate = selected > 0 && selected < rows.length
  }
  const matching = list.querySelector('[data-select-matching]')
  const isMatching = matching instanceof HTMLInputElement && matching.checked && selected === rows.length
  if (matching instanceof HTMLInputElement) matching.checked = isMatching
  const words = list.querySelector('[data-number-of]')
  const number = isMatching ? Number(matching.dataset.selectMatching) : selected
  if (words !== null) words.textContent = `${number.toLocaleString('en')} selected`
}
