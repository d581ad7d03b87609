/**
 * Signs in with the token that stands in the fragment of a sign-in link, and takes it out of the address and the history. Where
 * somebody is signed in, it only fills in the form.
 */

export function signInByLink() {
  // Somebody opened the link in a window that shows this page already.
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
