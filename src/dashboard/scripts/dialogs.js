/**
 * Links with `data-dialog` open the page they lead to in a dialog. The browser closes it with Esc, and gives the focus back.
 */
import { hasChanges } from './forms.js'
import { fetchPage } from './page.js'

export function watchDialogs() {
  document.addEventListener('click', (event) => {
    const { target } = event
    if (!(target instanceof Element)) return
    const link = target.closest('a[data-dialog]')
    if (!(link instanceof HTMLAnchorElement) || !isPlain(event)) return
    event.preventDefault()
    closeMenu(link)
    void openPage(link.href)
  })
}

/**
 * Whether somebody wants to follow a link here, not in another tab.
 * @type {(event: MouseEvent) => boolean}
 */
function isPlain({ button, ctrlKey, metaKey, shiftKey, altKey }) {
  return button === 0 && !ctrlKey && !metaKey && !shiftKey && !altKey
}

/** @type {(link: Element) => void} */
function closeMenu(link) {
  const menu = link.closest('.menu[popover]')
  if (menu instanceof HTMLElement) menu.hidePopover()
}

/** @type {(address: string) => Promise<void>} */
async function openPage(address) {
  const page = await fetchPage(address).catch(() => null)
  const main = page?.querySelector('main')
  if (!main) return location.assign(address)
  openDialog(...main.childNodes)
}

/**
 * Opens a dialog with this in it; it is gone when it closes. A form with changes asks before.
 * @type {(...content: Node[]) => void}
 */
export function openDialog(...content) {
  const dialog = document.createElement('dialog')
  const close = document.createElement('button')
  close.type = 'button'
  close.className = 'button close'
  close.dataset.close = ''
  close.textContent = 'Close'
  dialog.append(close, ...content)
  const heading = dialog.querySelector('h1')
  if (heading !== null) {
    heading.id = 'dialog-title'
    dialog.setAttribute('aria-labelledby', heading.id)
  }
  const mayLeave = () => !hasChanges(dialog) || confirm('Close without saving what you changed?')
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
  dialog.showModal()
}
