/** Fields of web addresses get the `https://` that people leave out. The server takes what is sent as it is. */
import { withScheme } from './web-address.js'

export function watchSchemes() {
  document.addEventListener('focusout', ({ target }) => {
    if (target instanceof HTMLInputElement && target.type === 'url') complete(target)
  })
  // A form that is sent by the Enter key is sent before its field is left.
  document.addEventListener('submit', ({ target }) => {
    if (!(target instanceof HTMLFormElement)) return
    for (const field of target.querySelectorAll('input[type="url"]')) {
      if (field instanceof HTMLInputElement) complete(field)
    }
  })
}

/** @type {(field: HTMLInputElement) => void} */
function complete(field) {
  const whole = withScheme(field.value)
  if (whole !== field.value) field.value = whole
}
