/** Lists whose rows can be selected: says how many are, and selects all of the page. */

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
