/** Copies the text of `data-copy` when its button is pressed, and shows "Copied" for two seconds. */
import { announce } from './page.js'

const saidFor = 2_000

/** @type {WeakMap<HTMLElement, number>} */
const timers = new WeakMap()

export function watchCopying() {
  document.addEventListener('click', async ({ target }) => {
    const button = target instanceof Element ? target.closest('[data-copy]') : null
    if (!(button instanceof HTMLElement)) return
    if (await copied(button.dataset.copy ?? '', button)) say(button)
  })
}

/** @type {(button: HTMLElement) => void} */
function say(button) {
  announce('Copied')
  button.dataset.copied = ''
  clearTimeout(timers.get(button))
  timers.set(
    button,
    setTimeout(() => delete button.dataset.copied, saidFor),
  )
}

/**
 * Copies the text. Returns false if the browser refuses.
 * @type {(text: string, beside: HTMLElement) => Promise<boolean>}
 */
async function copied(text, beside) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // Pages on plain HTTP have no clipboard API. The older command copies a selection, which must be in the open dialog.
    const area = document.createElement('textarea')
    area.value = text
    area.className = 'hidden-text'
    beside.after(area)
    area.select()
    const isDone = document.execCommand('copy')
    area.remove()
    beside.focus()
    return isDone
  }
}
