/** Dates and times: people read and type them in their own time zone, and forms send them in UTC, as without scripts. */

const exact = new Intl.DateTimeFormat('en-GB', {
  ...{ year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' },
  timeZoneName: 'short',
})

export function watchLocalTimes() {
  const { timeZone } = exact.resolvedOptions()
  for (const field of document.querySelectorAll('input[type="datetime-local"]')) {
    if (field instanceof HTMLInputElement) makeLocal(field, timeZone)
  }
  for (const time of document.querySelectorAll('time[data-local]')) {
    if (time instanceof HTMLTimeElement) time.textContent = exact.format(new Date(time.dateTime))
  }
  // Before anything else takes the form for sent.
  document.addEventListener('submit', askForWhole, true)
}

/**
 * Has people complete a date that is there in part: its field has no value, and would be taken for an empty one.
 * @type {(event: SubmitEvent) => void}
 */
function askForWhole(event) {
  if (!(event.target instanceof HTMLFormElement)) return
  for (const field of event.target.querySelectorAll('input[type="datetime-local"]')) {
    if (!(field instanceof HTMLInputElement) || !field.validity.badInput) continue
    event.preventDefault()
    event.stopImmediatePropagation()
    field.reportValidity()
    return
  }
}

/**
 * Has a hidden field send the time instead of this one.
 * @type {(field: HTMLInputElement, zone: string) => void}
 */
function makeLocal(field, zone) {
  const sent = document.createElement('input')
  sent.type = 'hidden'
  sent.name = field.name
  sent.value = field.value
  field.removeAttribute('name')
  // As if the page had come with it: it is no change of the form.
  field.defaultValue = localTime(field.value)
  field.after(sent)
  field.addEventListener('input', () => {
    const date = new Date(field.value)
    // What is no time is sent as it is, and refused beside the field.
    sent.value = Number.isNaN(date.getTime()) ? field.value : shortened(date)
  })
  const named = field.labels?.[0]?.querySelector('[data-zone]')
  if (named) named.textContent = zone
}

/**
 * A time in UTC as the clock here shows it; the text itself if it is no time.
 * @type {(text: string) => string}
 */
function localTime(text) {
  const time = Date.parse(`${text}Z`)
  return Number.isNaN(time) ? text : shortened(new Date(time - new Date(time).getTimezoneOffset() * 60_000))
}

/**
 * No longer than it must be, as the pages write times.
 * @type {(date: Date) => string}
 */
function shortened(date) {
  return date
    .toISOString()
    .slice(0, -1)
    .replace(/(?::00)?\.000$/, '')
}
