/** Lists whose rows can be selected: says how many are, and selects all of the page. */

export function watchSelection() {
  document.addEventListener('change', ({ target }) => {
    const form = target instanceof HTMLInputElement ? target.closest('form[data-select]') : null
    if (!(target instanceof HTMLInputElement) || form === null) return
    const all = form.querySelector('[data-select-all]')
    const rows = /** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll('tbody input[name^="row-"]'))
    if (target === all) for (const row of rows) row.checked = target.checked
    const selected = [...rows].filter(({ checked }) => checked).length
    if (all instanceof HTMLInputElement) {
      all.checked = selected === rows.length
      all.indeterminate = selected > 0 && selected < rows.length
    }
    const words = form.querySelector('[data-number-of]')
    if (words !== null) words.textContent = `${selected} selected`
  })
}
