import { Failure } from '../errors.ts'
import type { Handler } from '../http/exchange.ts'
import type { Router } from '../http/router.ts'
import { type StaticContent, sendStatic } from '../http/static-content.ts'
import { assetsVersion, dashboardFiles } from './assets.ts'
import { wordForPeople } from './wording.ts'

/**
 * Adds `/app/static/{version}/{name}`. No session is needed: the sign-in page has the same style. Files are compressed when
 * first asked for.
 */
export function staticRoute(router: Router): void {
  let files: Promise<ReadonlyMap<string, StaticContent>> | undefined
  const handler: Handler = async (exchange) => {
    const { version, name = '' } = exchange.params
    files ??= dashboardFiles()
    const file = (await files).get(name)
    if (file === undefined) return new Failure('route_not_found', 'The dashboard has no such file.')
    // A page of another version, from before an update or from another node, must not be kept with the files of this one.
    return sendStatic(exchange, file, version === assetsVersion ? 'public, max-age=31536000, immutable' : 'no-cache')
  }
  router.add('GET', '/app/static/:version/:name', handler, { word: wordForPeople })
}
