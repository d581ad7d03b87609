/** How long a link that was deleted in the dashboard can be restored. Milliseconds. */
export const restorableMs = 60_000

/** The time before which a link was deleted that cannot be restored at `now`, in Unix milliseconds; RFC 3339. */
export function restorableSince(now: number): string {
  return new Date(now - restorableMs).toISOString()
}
