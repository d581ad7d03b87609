/** Keeps the last sent form in this tab until the server answers, because a lost connection replaces its page. */

const storageKey = 'draft'
/** Referrers have no fragment. */
const page = location.href.replace(/#.*/, '')
/** @typedef {{ page: string, form: string, values: [name: string, value: string, isChecked: boolean][] }} Draft */

/** Names a form, with the account of its page. @type {(form: HTMLFormElement) => string} */
function nameOf(form) {
  const account = form.elements.namedItem('page_account')
  return `${form.getAttribute('action')} ${account instanceof HTMLInputElement ? account.value : ''}`
}

/** @typedef {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} Control */

/** Returns the controls with text and choices: no passwords. @type {(form: HTMLFormElement) => Control[]} */
function controlsIn(form) {
  const found = form.querySelectorAll(
    ':is(input:not([type=password], [type=hidden], [type=file]), textarea, select)[name]',
  )
  return /** @type {Control[]} */ ([...found])
}

document.addEventListener('submit', ({ target: form, defaultPrevented }) => {
  if (defaultPrevented || !(form instanceof HTMLFormElement) || !('guard' in form.dataset)) return
  const values = controlsIn(form).map((each) => [each.name, each.value, 'checked' in each && each.checked])
  try {
    sessionStorage.setItem(storageKey, JSON.stringify({ page, form: nameOf(form), values }))
  } catch {
    // The text is too long to keep.
  }
})

const [entry] = performance.getEntriesByType('navigation')
const isRedirected = entry instanceof PerformanceNavigationTiming && entry.redirectCount > 0
const isSaved = isRedirected && document.referrer === readDraft()?.page
// The next person may be another one.
if (isSaved || location.pathname === '/app/sign-in') sessionStorage.removeItem(storageKey)
restoreDraft(document)

/** @returns {Draft | null} */
function readDraft() {
  return JSON.parse(sessionStorage.getItem(storageKey) ?? 'null')
}

/** Fills in the draft if its form is here again, unless the server shows the form with its values. @type {(within: ParentNode) => void} */
export function restoreDraft(within) {
  const draft = readDraft()
  const forms = /** @type {NodeListOf<HTMLFormElement>} */ (within.querySelectorAll('form[data-guard]'))
  const form = draft && [...forms].find((each) => nameOf(each) === draft.form)
  if (!form) return
  sessionStorage.removeItem(storageKey)
  if (draft.page !== page || form.dataset.guard === 'changed') return
  for (const [at, control] of controlsIn(form).entries()) {
    const [name, value = '', isChecked = false] = draft.values[at] ?? []
    if (control.name !== name) return
    fillIn(control, value, isChecked)
  }
  form.dataset.guard = 'changed'
  const message = document.createElement('p')
  message.className = 'notice warning'
  message.setAttribute('role', 'status')
  message.textContent = 'The last changes were not saved. The form has them again.'
  form.prepend(message)
}

/** Opens the section of a control that gets another value. @type {(control: Control, value: string, isChecked: boolean) => void} */
function fillIn(control, value, isChecked) {
  const isChoice = control instanceof HTMLInputElement && ['checkbox', 'radio'].includes(control.type)
  if (isChoice ? control.checked === isChecked : control.value === value) return
  if (isChoice) control.checked = isChecked
  else control.value = value
  const section = control.closest('details')
  if (section !== null) section.open = true
}
