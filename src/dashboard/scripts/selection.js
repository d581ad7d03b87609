/** Selected rows of a list: all of a page, ranges with Shift, and all that match. */

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
