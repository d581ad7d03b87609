/** Forms: `data-guard` asks before changes are lost, and none is sent twice. */

export function watchForms() {
  document.addEventListener('submit', (event) => {
    const { target: form } = event
    if (!(form instanceof HTMLFormElement) || event.defaultPrevented) return
    if (form.method === 'post' && 'sent' in form.dataset) return event.preventDefault()
    form.dataset.sent = ''
    // Somebody who stopped the request may send it again.
    setTimeout(() => delete form.dataset.sent, 3_000)
  })
  // A page that the browser kept comes back as it was left.
  addEventListener('pageshow', () => {
    for (const form of document.forms) delete form.dataset.sent
  })
  addEventListener('beforeunload', (event) => {
    if (hasChanges(document)) event.preventDefault()
  })
}

/**
 * Whether somebody has typed or chosen what is not on its way to the server. What was refused is not saved either.
 * @type {(within: ParentNode) => boolean}
 */
export function hasChanges(within) {
  return [.../** @type {NodeListOf<HTMLFormElement>} */ (within.querySelectorAll('form[data-guard]'))].some(
    (form) =>
      !('sent' in form.dataset) &&
      (form.querySelector('[aria-invalid]') !== null || [...form.elements].some(isChanged)),
  )
}

/** @type {(control: Element) => boolean} */
function isChanged(control) {
  if (control instanceof HTMLSelectElement) return !isAsItCame(control)
  if (!(control instanceof HTMLInputElement)) return false
  const isChoice = control.type === 'checkbox' || control.type === 'radio'
  return isChoice ? control.checked !== control.defaultChecked : control.value !== control.defaultValue
}

/**
 * Where none of the options was chosen by the page, the browser chooses the first.
 * @type {(select: HTMLSelectElement) => boolean}
 */
function isAsItCame(select) {
  const chosen = [...select.options].findIndex(({ defaultSelected }) => defaultSelected)
  return select.selectedIndex === Math.max(0, chosen)
}
