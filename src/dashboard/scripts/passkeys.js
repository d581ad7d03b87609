/**
 * Forms with `data-passkey`: asks the browser for a passkey, and sends it in the field `credential`. A form with `data-offered`
 * suggests passkeys in the field with `autocomplete="… webauthn"` before anyone presses its button.
 */

/** The request that is open, because browsers allow only one. @type {AbortController | undefined} */
let open

// Runs before the listeners of other scripts, because the submission has to wait for the passkey.
document.addEventListener('submit', takeOver, { capture: true })

/** @type {(event: SubmitEvent) => void} */
function takeOver(event) {
  const { target: form } = event
  if (!(form instanceof HTMLFormElement) || !('passkey' in form.dataset) || fieldOf(form).value !== '') return
  if ('optional' in form.dataset && !('PublicKeyCredential' in window)) return
  event.preventDefault()
  showError(form, '')
  void ask(form, 'optional').catch((error) => {
    if (error.name === 'AbortError') return
    showError(form, sentenceFor(error, form))
    void offer(form)
  })
}

// Browsers may restore the passkey of an earlier submission, which works only once.
addEventListener('pageshow', () => {
  for (const form of passkeyForms()) fieldOf(form).value = ''
})

for (const form of passkeyForms()) {
  const isHere = new URL(form.dataset.url ?? '').origin === location.origin
  form.hidden = !isHere
  // The link to where passkeys work.
  if (form.nextElementSibling instanceof HTMLElement) form.nextElementSibling.hidden = isHere
  void offer(form)
}

/** Challenges expire after five minutes. Milliseconds. */
const renewAfterMs = 4 * 60_000

/**
 * Suggests passkeys until people choose one or press a button, which shows the errors.
 * @type {(form: HTMLFormElement) => Promise<void>}
 */
async function offer(form) {
  const before = open
  const isPossible = 'offered' in form.dataset && !form.hidden && 'PublicKeyCredential' in window
  if (!isPossible || !(await PublicKeyCredential.isConditionalMediationAvailable?.()) || open !== before) return
  ask(form, 'conditional').catch(() => undefined)
  const request = open
  setTimeout(() => {
    if (request === open) void offer(form)
  }, renewAfterMs)
}

/** Asks for a passkey, and sends it. @type {(form: HTMLFormElement, mediation: CredentialMediationRequirement) => Promise<void>} */
async function ask(form, mediation) {
  open?.abort()
  open = new AbortController()
  const { signal } = open
  const answer = await fetch(form.dataset.options ?? '', { signal })
  const options = await answer.json()
  const credential =
    form.dataset.passkey === 'create'
      ? await navigator.credentials.create({
          publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
          signal,
        })
      : await navigator.credentials.get({
          publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
          mediation,
          signal,
        })
  fieldOf(form).value = JSON.stringify(credential)
  form.requestSubmit()
}

/** @type {(error: Error, form: HTMLFormElement) => string} */
function sentenceFor({ name }, { dataset }) {
  if (!('PublicKeyCredential' in window)) return 'This browser doesn’t support passkeys. Use another browser.'
  if (name === 'InvalidStateError') return 'This device already has a passkey for you.'
  if (name !== 'NotAllowedError') return 'Something went wrong. Reload the page and try again.'
  return dataset.passkey === 'create'
    ? 'No passkey was created. Try again.'
    : 'No passkey was used. Try again, or sign in another way.'
}

/** @type {(form: HTMLFormElement, sentence: string) => void} */
function showError(form, sentence) {
  const message = form.querySelector('.error[role="alert"]')
  if (!(message instanceof HTMLElement)) return
  message.hidden = sentence === ''
  message.textContent = sentence
}

function passkeyForms() {
  return /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll('form[data-passkey]'))
}

/** @type {(form: HTMLFormElement) => HTMLInputElement} */
function fieldOf(form) {
  return /** @type {HTMLInputElement} */ (form.elements.namedItem('credential'))
}
