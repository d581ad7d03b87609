/** The URLs of the instance, and whether a server listens there. */
import type { Writable } from 'node:stream'
import { readOwnUrl } from '../config/config.ts'
import { StartupFailure } from '../errors.ts'
import { isListening } from '../lib/listening.ts'

/** Returns the URL of the dashboard, without a trailing slash, by the stored one. Throws `StartupFailure` if it is unknown. */
export function dashboardUrl(stored: string | null): string {
  const base = readOwnUrl(stored)
  if (base !== null) return base
  throw new StartupFailure(
    'With PORT=0, the server uses any free port. Start it once, or set BASE_URL to the URL of the dashboard.',
  )
}

/** Warns if no server listens on the URL that a printed link starts with. */
export async function warnUnlessListening(base: string, err: Writable): Promise<void> {
  if (await isListening(new URL(base))) return
  err.write(`Nothing is listening on ${base}. Start the server before you open the link.\n`)
}
