/** Forms: warns about unsaved changes, prevents double submission, completes URLs, and signs in by link. */
import { withHttps } from './web-address.js'

export function watchForms() {
  document.addEventListener('submit', (event) => {
    const { target: form } = event
    if (!(form instanceof HTMLFormElement) || event.defaultPrevented) return
    if (form.method === 'post' && 'sent' in form.dataset) return event.preventDefault()
    form.dataset.sent = ''
    // People who cancel a request may send the form again.
    setTimeout(() => delete form.dataset.sent, 3_000)
  })
  // The browser restores pages from its cache in their last state.
  addEventListener('pageshow', () => {
    for (const form of document.forms) delete form.dataset.sent
  })
  addEventListener('beforeunload', (event) => {
    if (hasChanges(document)) event.preventDefault()
  })
}

/**
 * Returns whether a form with `data-guard` has unsaved changes. Rejected input counts as unsaved.
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
  if (control instanceof HTMLSelectElement) return !hasInitialValue(control)
  if (!(control instanceof HTMLInputElement)) return false
  const isChoice = control.type === 'checkbox' || control.type === 'radio'
  return isChoice ? control.checked !== control.defaultChecked : control.value !== control.defaultValue
}

/**
 * Returns whether the select has its initial value. Without a selected option, that is the first one.
 * @type {(select: HTMLSelectElement) => boolean}
 */
function hasInitialValue(select) {
  const chosen = [...select.options].findIndex(({ defaultSelected }) => defaultSelected)
  return select.selectedIndex === Math.max(0, chosen)
}

/** Adds the missing `https://` to URL fields. The server takes URLs unchanged. */
export function watchUrlFields() {
  document.addEventListener('focusout', ({ target }) => {
    if (target instanceof HTMLInputElement && target.type === 'url') complete(target)
  })
  // The Enter key submits a form before its field loses the focus.
  document.addEventListener('submit', ({ target }) => {
    if (!(target instanceof HTMLFormElement)) return
    for (const field of target.querySelectorAll('input[type="url"]')) {
      if (field instanceof HTMLInputElement) complete(field)
    }
  })
}

/** @type {(field: HTMLInputElement) => void} */
function complete(field) {
  const whole = withHttps(field.value)
  if (whole !== field.value) field.value = whole
}

/**
 * Signs in with the token in the fragment of a sign-in link, and removes it from the URL and the history. In a signed-in
 * browser, this only fills in the form.
 */
export function watchSignInLink() {
  // The link may be opened in a window that shows this page already.
  addEventListener('hashchange', sendToken)
  sendToken()
}

function sendToken() {
  const form = document.querySelector('form[data-sign-in]')
  const token = location.hash.slice(1)
  if (!(form instanceof HTMLFormElement) || !token.startsWith('wml_')) return
  history.replaceState(null, '', location.pathname + location.search)
  const field = form.elements.namedItem('token')
  if (!(field instanceof HTMLInputElement)) return
  field.value = token
  if (form.dataset.signIn === 'now') form.requestSubmit()
}
