/** Times: rejects incomplete dates, and reports the time zone of the browser once. */

// Incomplete dates have no value, so the server would regard them as empty. Runs before other listeners.
document.addEventListener(
  'submit',
  (event) => {
    if (!(event.target instanceof HTMLFormElement)) return
    const fields = /** @type {NodeListOf<HTMLInputElement>} */ (
      event.target.querySelectorAll('input[type="datetime-local"]')
    )
    const incomplete = [...fields].find(({ validity }) => validity.badInput)
    if (incomplete === undefined) return
    event.preventDefault()
    event.stopImmediatePropagation()
    incomplete.reportValidity()
  },
  true,
)

// Forms use this zone from the next page on. The server stores it only for a person without a zone.
if (document.querySelector('[data-zone-unknown]')) {
  const time_zone = new Intl.DateTimeFormat().resolvedOptions().timeZone
  const request = { method: 'POST', body: new URLSearchParams({ time_zone }), redirect: 'manual', keepalive: true }
  void fetch('/app/profile/time-zone', /** @type {RequestInit} */ (request)).catch(() => undefined)
}
