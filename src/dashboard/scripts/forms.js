/** Forms: `data-guard` asks before changes are lost, and none is sent twice. */

export function watchForms() {
  document.addEventListener('input', ({ target }) => {
    const form = target instanceof Element ? target.closest('form[data-guard]') : null
    form?.setAttribute('data-changed', '')
  })
  document.addEventListener('submit', (event) => {
    const { target: form } = event
    if (!(form instanceof HTMLFormElement) || event.defaultPrevented) return
    if (form.method === 'post' && 'sent' in form.dataset) return event.preventDefault()
    form.removeAttribute('data-changed')
    form.dataset.sent = ''
    // Somebody who stopped the request may send it again.
    setTimeout(() => delete form.dataset.sent, 3_000)
  })
  // What was refused is not saved either.
  for (const field of document.querySelectorAll('form[data-guard] [aria-invalid]')) {
    field.closest('form')?.setAttribute('data-changed', '')
  }
  // A page that the browser kept comes back as it was left.
  addEventListener('pageshow', () => {
    for (const form of document.forms) delete form.dataset.sent
  })
  addEventListener('beforeunload', (event) => {
    if (document.querySelector('form[data-changed]') !== null) event.preventDefault()
  })
}
