import { Failure } from '../errors.ts'
import type { Handler } from '../http/exchange.ts'
import type { Router } from '../http/router.ts'
import { type StaticContent, sendStatic } from '../http/static-content.ts'
import { dashboardFiles } from './assets.ts'
import { wordForPeople } from './wording.ts'

/** Adds `/app/static/*`. No session is needed: the sign-in page has the same style. Files are read when first asked for. */
export function staticRoute(router: Router): void {
  let files: Promise<ReadonlyMap<string, StaticContent>> | undefined
  const handler: Handler = async (exchange) => {
    files ??= dashboardFiles()
    const file = (await files).get(exchange.params['*'] ?? '')
    if (file === undefined) return new Failure('route_not_found', 'The dashboard has no such file.')
    return sendStatic(exchange, file)
  }
  router.add('GET', '/app/static/*', handler, { word: wordForPeople })
}
