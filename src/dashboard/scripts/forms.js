/** Forms: warns about unsaved changes, prevents double submission, completes URLs, and signs in by link. */
import { campaignParameters, readCampaign, withHttps, writeCampaign } from './destination.js'

document.addEventListener('submit', (event) => {
  const { target: form } = event
  if (!(form instanceof HTMLFormElement) || event.defaultPrevented) return
  if (form.method === 'post' && 'sent' in form.dataset) return event.preventDefault()
  form.dataset.sent = ''
  // People who cancel a request may send the form again.
  setTimeout(() => delete form.dataset.sent, 3_000)
})
// Dismissing an offer must not reload a page with a half-completed form.
document.addEventListener('submit', (event) => {
  const { target: form } = event
  if (!(form instanceof HTMLFormElement) || !('dismiss' in form.dataset)) return
  event.preventDefault()
  // People may leave the page before the response.
  const body = new URLSearchParams(/** @type {[string, string][]} */ ([...new FormData(form)]))
  const request = { method: 'POST', body, redirect: 'manual', keepalive: true }
  void fetch(form.action, /** @type {RequestInit} */ (request)).catch(() => undefined)
  form.closest('.notice')?.remove()
  document.querySelector('main')?.focus()
})
// The browser restores pages from its cache in their last state.
addEventListener('pageshow', () => {
  for (const form of document.forms) delete form.dataset.sent
})
addEventListener('beforeunload', (event) => {
  if (hasChanges(document)) event.preventDefault()
})

/** Whether a form with `data-guard` has changes, `changed` as its value, or rejected input. @type {(within: ParentNode) => boolean} */
export function hasChanges(within) {
  const forms = /** @type {NodeListOf<HTMLFormElement>} */ (within.querySelectorAll('form[data-guard]'))
  return [...forms].some(
    (form) =>
      !('sent' in form.dataset) &&
      (form.dataset.guard === 'changed' ||
        form.querySelector('[aria-invalid]') !== null ||
        [...form.elements].some(isChanged)),
  )
}

/** @type {(control: Element) => boolean} */
function isChanged(control) {
  if (control instanceof HTMLSelectElement) {
    // Without a selected option, browsers select the first one.
    const initial = [...control.options].findIndex(({ defaultSelected }) => defaultSelected)
    return control.selectedIndex !== Math.max(0, initial)
  }
  if (control instanceof HTMLTextAreaElement) return control.value !== control.defaultValue
  if (!(control instanceof HTMLInputElement)) return false
  const isChoice = control.type === 'checkbox' || control.type === 'radio'
  return isChoice ? control.checked !== control.defaultChecked : control.value !== control.defaultValue
}

// A task checks its scopes, and other scopes are another task.
document.addEventListener('change', ({ target }) => {
  const fields = target instanceof HTMLInputElement ? target.closest('[data-tasks]') : null
  if (fields === null || !(target instanceof HTMLInputElement)) return
  const boxes = /** @type {NodeListOf<HTMLInputElement>} */ (fields.querySelectorAll('[type=checkbox]'))
  if (target.type === 'checkbox') {
    const own = /** @type {HTMLInputElement | null} */ (fields.querySelector('[name=task][value=own]'))
    if (own !== null) own.checked = true
  } else if (target.value !== 'own') {
    const scopes = readScopes(target)
    for (const box of boxes) box.checked = scopes.includes(box.name)
  }
})
for (const fields of document.querySelectorAll('[data-tasks]')) {
  const boxes = /** @type {NodeListOf<HTMLInputElement>} */ (fields.querySelectorAll('[type=checkbox]'))
  if ([...boxes].some(({ checked }) => checked)) continue
  const scopes = readScopes(fields.querySelector('[name=task]:checked'))
  for (const box of boxes) box.defaultChecked = scopes.includes(box.name)
}

/** @type {(radio: Element | null) => readonly string[]} */
function readScopes(radio) {
  return (radio?.parentElement?.querySelector('[data-scopes]')?.getAttribute('data-scopes') ?? '').split(' ')
}

document.addEventListener('focusout', ({ target }) => completeUrl(target))
// The Enter key submits a form before its field loses the focus.
document.addEventListener('submit', ({ target }) => {
  if (target instanceof HTMLFormElement) for (const field of target.elements) completeUrl(field)
})

/** Adds the missing `https://`. The server takes URLs unchanged. @type {(field: EventTarget | null) => void} */
function completeUrl(field) {
  if (!(field instanceof HTMLInputElement) || field.type !== 'url') return
  const whole = withHttps(field.value)
  if (whole !== field.value) field.value = whole
}

/** The campaign fields that were edited before there was a destination. @type {Set<HTMLInputElement>} */
const early = new Set()

// The destination and the fields of its campaign show the same values.
document.addEventListener('input', ({ target }) => {
  if (!(target instanceof HTMLInputElement) || !target.form) return
  const { form, name, value } = target
  const url = fieldOf(form, 'url')
  if (url === null) return
  if (target === url) return showCampaign(form, readCampaign(value))
  if (!campaignParameters.some((each) => each === name)) return
  if (url.value === '') early.add(target)
  else url.value = writeCampaign(url.value, { [name]: value })
})
document.addEventListener('change', ({ target }) => {
  if (!(target instanceof HTMLInputElement) || target.name !== 'url' || target.value === '') return
  for (const { form, name, value } of early) {
    if (form === target.form) target.value = writeCampaign(target.value, { [name]: value })
  }
  early.clear()
})

/** @type {(form: HTMLFormElement, campaign: import('./destination.js').Campaign) => void} */
function showCampaign(form, campaign) {
  for (const name of campaignParameters) {
    const field = fieldOf(form, name)
    const value = campaign[name]
    if (field === null || (early.has(field) && value === '')) continue
    early.delete(field)
    if (field.value.trim() !== value) field.value = value
  }
}

// In a list, each suggestion begins with the values before the last comma, because it replaces the whole text.
document.addEventListener('input', suggestNext)
document.addEventListener('focusin', suggestNext)

/** @type {(event: Event) => void} */
function suggestNext({ target }) {
  if (!(target instanceof HTMLInputElement) || !('list' in target.dataset) || target.list === null) return
  const before = target.value.includes(',') ? target.value.replace(/,[^,]*$/, ', ') : ''
  const used = new Set(before.split(',').map((value) => value.trim().toLowerCase()))
  for (const option of target.list.options) {
    option.dataset.name ??= option.value
    const { name } = option.dataset
    const value = before + name
    option.disabled = used.has(name.toLowerCase())
    if (option.value !== value) option.value = value
  }
}

/** @type {(form: HTMLFormElement, name: string) => HTMLInputElement | null} */
function fieldOf(form, name) {
  const field = form.elements.namedItem(name)
  return field instanceof HTMLInputElement ? field : null
}

// A link may be opened in a window that shows its page already.
addEventListener('hashchange', sendToken)
sendToken()

/**
 * Sends the token in the URL, such as that of a sign-in link, and removes it from the URL. In a signed-in browser, a
 * sign-in link only fills in the form.
 */
function sendToken() {
  const form = document.querySelector('form[data-token]')
  const token = location.hash.slice(1)
  if (!(form instanceof HTMLFormElement) || !token.startsWith(form.dataset.token ?? ' ')) return
  history.replaceState(null, '', location.pathname + location.search)
  const field = form.elements.namedItem('token')
  if (!(field instanceof HTMLInputElement)) return
  field.value = token
  if (form.dataset.signIn !== 'ask') form.requestSubmit()
}
