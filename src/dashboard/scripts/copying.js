/**
 * Copies the text of `data-copy` when its button is pressed, and shows "Copied" for two seconds. Copies the short link
 * of a new link, whose notice has `data-created`.
 */
import { announce } from './page.js'

/** @type {WeakMap<HTMLElement, number>} */
const timers = new WeakMap()

document.addEventListener('click', async ({ target }) => {
  const button = target instanceof Element ? target.closest('[data-copy]') : null
  if (!(button instanceof HTMLElement) || !(await copied(button.dataset.copy ?? '', button))) return
  announce('Copied')
  button.dataset.copied = ''
  clearTimeout(timers.get(button))
  const timer = setTimeout(() => delete button.dataset.copied, 2_000)
  timers.set(button, timer)
})

/** @type {(text: string, button: HTMLElement) => Promise<boolean>} */
async function copied(text, button) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // Pages on plain HTTP have no clipboard API. The older command copies a selection, which must be in the open dialog.
    const area = document.createElement('textarea')
    area.value = text
    area.className = 'hidden-text'
    button.after(area)
    area.select()
    const isDone = document.execCommand('copy')
    area.remove()
    button.focus()
    return isDone
  }
}

const created = document.querySelector('[data-created]')
const copyButton = document.querySelector('.head [data-copy]')
if (created && copyButton instanceof HTMLElement) void copyCreated(created, copyButton)

/** Firefox and Safari allow this only after a key or a click on this page. @type {(notice: Element, button: HTMLElement) => Promise<void>} */
async function copyCreated(notice, button) {
  try {
    await navigator.clipboard.writeText(button.dataset.copy ?? '')
    notice.append(' The short link is copied.')
    announce('The short link is copied.')
  } catch {
    // The Enter key copies it.
    button.focus()
  }
}
