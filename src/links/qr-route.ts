import { hash } from 'node:crypto'
import { idOf } from '../api/envelopes.ts'
import type { Api } from '../api/routes.ts'
import { Failure, found, validationFailed } from '../errors.ts'
import { addHeader, send } from '../http/answer.ts'
import { addEntityTag, type Condition, conditionOf } from '../http/conditions.ts'
import { dispositionOf } from '../http/disposition.ts'
import type { Exchange, Outcome } from '../http/exchange.ts'
import type { Fields } from '../http/form-encoding.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Storage } from '../storage/port.ts'
import { breadthOf, capacity, type Frame, type Level, levels, type Modules, modulesOf, pictureOf, svgOf } from './qr.ts'
import { qrQuery, showLinkQr } from './qr-operation.ts'
import { findLink } from './store.ts'

/** `GET /links/{id}/qr`. */
export function linkQrRoute(api: Api, storage: Storage, shortUrl: ShortUrl): void {
  api.add(showLinkQr, async (exchange, { caller }) => {
    const condition = conditionOf(exchange)
    const { record } = found(await findLink(storage, caller.account, idOf(exchange, 'link')), 'link')
    const address = shortUrl(record.domain_name ?? '', record.alias)
    return sendQr(
      exchange,
      { name: `link-${record.id}`, address, query: exchange.query as Fields, disposition: 'inline' },
      condition,
    )
  })
}

export interface QrAsked {
  /** Of the file, without what says its format. */
  readonly name: string
  /** The short URL of the link. */
  readonly address: string
  readonly query: Fields
  /** Whether a browser shows the picture or keeps it as a file. */
  readonly disposition: 'inline' | 'attachment'
  /** Sent with the picture, and with no failure. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends the QR code of a link as the query asks; 304 if the client has it. Returns `validation_failed`. */
export async function sendQr(
  exchange: Exchange,
  { name: file, address, query: sent, disposition, headers = {} }: QrAsked,
  condition: Condition | null,
): Promise<Outcome> {
  const query = qrQuery.check(sent)
  if (query instanceof Failure) return query
  const modules = fittingModules(address, query)
  if (modules instanceof Failure) return modules
  for (const name in headers) addHeader(exchange, name, headers[name] as string)
  const isSvg = query.format === 'svg'
  const picture = isSvg ? svgOf(modules, query) : await pictureOf(modules, query)
  if (addEntityTag(exchange, hash('sha1', picture, 'base64url'), condition)) return send(exchange, 304)
  addHeader(exchange, 'content-type', isSvg ? 'image/svg+xml' : 'image/png')
  addHeader(exchange, 'content-disposition', dispositionOf(disposition, `${file}.${query.format}`))
  // A browser that opens an SVG document by itself runs what is in it.
  addHeader(exchange, 'content-security-policy', "default-src 'none'; sandbox")
  return send(exchange, 200, picture)
}

/** The code, if the level can hold the short URL and the frame has a pixel for each module. */
function fittingModules(shortUrl: string, { level, ...frame }: Frame & { readonly level: Level }): Modules | Failure {
  if (shortUrl.length > capacity[level]) {
    const highest = levels.findLast((each) => shortUrl.length <= capacity[each])
    const message = `The level ${level} cannot hold this short URL, which is ${shortUrl.length} characters long. Send level=${highest}.`
    return validationFailed([{ field: 'level', code: 'not_allowed', message }])
  }
  const modules = modulesOf(shortUrl, level)
  const smallest = breadthOf(modules, frame.margin)
  if (frame.size >= smallest) return modules
  const message = `The size must be at least ${smallest} for this short URL, so that each module has a pixel.`
  return validationFailed([{ field: 'size', code: 'out_of_range', message }])
}
