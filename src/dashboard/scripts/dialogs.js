/** Opens the target of links with `data-dialog` in a dialog. The browser closes it with Esc and returns the focus. */
import { restoreDraft } from './drafts.js'
import { hasChanges } from './forms.js'
import { fetchPage } from './page.js'

document.addEventListener('click', (event) => {
  const { target, button, ctrlKey, metaKey, shiftKey, altKey } = event
  const link = target instanceof Element ? target.closest('a[data-dialog]') : null
  const opensInThisTab = button === 0 && !ctrlKey && !metaKey && !shiftKey && !altKey
  if (!(link instanceof HTMLAnchorElement) || !opensInThisTab) return
  event.preventDefault()
  const menu = link.closest('.menu[popover]')
  if (menu instanceof HTMLElement) menu.hidePopover()
  void openPage(link.href)
})

/** @type {(address: string) => Promise<void>} */
async function openPage(address) {
  const page = await fetchPage(address).catch(() => null)
  const main = page?.querySelector('main')
  if (!main) return location.assign(address)
  // The page below shows them.
  main.querySelector('.notices')?.remove()
  openDialog(...main.childNodes)
}

/** Shows the content until it closes. Asks first if a form has changes. @type {(...content: Node[]) => void} */
export function openDialog(...content) {
  const dialog = document.createElement('dialog')
  dialog.append(...content)
  // A confirmation has its own Cancel link.
  const cancel = dialog.querySelector('a[data-close]')
  if (cancel === null) {
    const close = document.createElement('button')
    close.type = 'button'
    close.className = 'button close'
    close.dataset.close = ''
    close.textContent = 'Close'
    dialog.prepend(close)
  }
  const heading = dialog.querySelector('h1')
  if (heading !== null) {
    heading.id = 'dialog-title'
    dialog.setAttribute('aria-labelledby', heading.id)
  }
  const mayLeave = () => !hasChanges(dialog) || confirm('Discard your changes?')
  dialog.addEventListener('cancel', (event) => {
    if (!mayLeave()) event.preventDefault()
  })
  dialog.addEventListener('click', (event) => {
    const { target } = event
    if (target !== dialog && !(target instanceof Element && target.closest('[data-close]'))) return
    event.preventDefault()
    if (mayLeave()) dialog.close()
  })
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  restoreDraft(dialog)
  dialog.showModal()
  // Pressing Enter right away must not delete anything.
  if (cancel instanceof HTMLElement) cancel.focus()
}
