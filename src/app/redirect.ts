import { type ClickOptions, Clicks } from '../analytics/clicks.ts'
import { shortUrls } from '../names/short-url.ts'
import { Directory } from '../redirect/directory.ts'
import { visitorsListener } from '../redirect/listener.ts'
import { VisitCounts } from '../redirect/visit-counts.ts'
import type { AppOptions, Shared } from './options.ts'

/** The listener of visitors, and what it serves from and counts into. */
export function redirectOf(options: AppOptions, shared: Shared) {
  const { storage, log, shortUrl, staleFor, maxConnections, countryHeader } = options
  const warn = (message: string) => (error: unknown) => log.logger.warn({ err: error }, message)
  const directory = new Directory(storage, {
    staleForMs: staleFor * 1_000,
    onProblem: warn('visitors are served from memory, since the database is away'),
  })
  const onProblem: ClickOptions['onProblem'] = (error, meaning, level = 'warn') =>
    log.logger[level]({ err: error }, meaning)
  const clicks = new Clicks(storage, {
    ...options,
    onProblem,
    onCountryFile: ({ isUsed, message }) => log.logger[isUsed ? 'info' : 'warn'](message),
  })
  const visits = new VisitCounts()
  const listener = visitorsListener({
    directory,
    onClick: (visit) => clicks.count(visit),
    takeClick: (visit) => clicks.take(visit),
    countryHeader,
    shortUrl: shortUrls(shortUrl),
    visits,
    log,
    maxConnections,
    ...shared,
  })
  return { listener, directory, clicks, visits }
}
