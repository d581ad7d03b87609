import { isbot } from 'isbot'
import { memoized } from '../../lib/lru-cache.ts'
import { maxUserAgent } from './software.ts'

/** A redirected visit in memory. Only its facts and a visitor hash are stored: see `facts.ts`. */
export interface Visit {
  readonly link: number
  /** Unix milliseconds. */
  readonly atMs: number
  readonly class: VisitorClass
  /** Whether the visitor asks not to be tracked: `Sec-GPC` or `DNT`. */
  readonly isPrivate: boolean
  /** The client's IP address, possibly forwarded by a proxy. */
  readonly address: string
  /** The visited domain, as it is stored. */
  readonly host: string
  /** Headers, as Node returns them. Empty if the visitor sent none. */
  readonly userAgent: string
  readonly referrer: string
  readonly languages: string
  /** The header for the country, if one is configured. */
  readonly country: string
  /** 1; more for merged visits, which only have a link, a class and a quarter of an hour. */
  readonly count: number
}

/** A person, a program such as a crawler, or a program that shows a preview of the destination, such as a messenger. */
type VisitorClass = 'person' | 'bot' | 'preview'

/**
 * Programs that show previews. The browsers of apps belong to people: `pinterest/0.2` is a preview, `[Pinterest/iOS]` is
 * not; `Viber/12` at the start is one, `Chrome/66 … Viber/11` is not.
 */
const unfurlers = new RegExp(
  [
    ...['slackbot', 'slack-imgproxy', 'discordbot', 'telegrambot', 'whatsapp/', 'signal-desktop', '^viber/'],
    ...['facebookexternalhit', 'facebot', 'facebookexternalua', 'meta-externalfetcher', 'twitterbot', 'linkedinbot'],
    ...['skypeuripreview', 'microsoftpreview', 'bingpreview', 'ms-office', 'microsoft office'],
    ...['^outlook-(ios|android)/', 'google web preview', 'google-pagerenderer', '^googlemessages', 'imageproxy'],
    ...['mailproxy', 'websitemetadataretriever', 'mastodon/', 'pleroma', 'akkoma', 'misskey'],
    ...['summalybot', 'lemmy/', 'cardyb', 'bluesky', 'iframely', 'embedly', 'redditbot', 'pinterest(bot)?/\\d'],
    ...['vkshare', 'line-poker', 'kakaotalk-scrap', 'snap url preview', 'tumblr/', 'mattermost', 'rocket\\.?chat'],
    ...['synapse', 'zulipurlpreview', 'discourse', 'wordpress\\.com mshots', 'notion', 'xing-contenttabreceiver'],
    ...['outbrain', 'flipboardproxy', 'quora link preview', 'bitrix link preview', 'opengraph', 'link ?preview'],
  ].join('|'),
  'i',
)

/** Apps of people that `isbot` takes for programs: desktop messengers and Alipay. */
const apps = /\bElectron\/|\bAlipayClient\//

/** Programs that `isbot` takes for people: libraries and mail scanners. */
const programs = new RegExp(
  [
    ...['^dart/', 'powershell/', '\\bcfnetwork/', '\\bdalvik/'],
    ...['proofpoint', 'mimecast', 'barracuda', 'symantec', 'trend ?micro', 'forcepoint', 'fireeye', 'safelinks'],
  ].join('|'),
  'i',
)

/** Returns the class of a visit. Without a user agent it is a person, because privacy proxies remove it. */
export function classOf(method: string, userAgent: string | undefined): VisitorClass {
  if (method === 'HEAD') return 'preview'
  if (userAgent === undefined || userAgent === '') return 'person'
  return judged(userAgent)
}

const judged = memoized((userAgent): VisitorClass => {
  if (apps.test(userAgent)) return 'person'
  if (unfurlers.test(userAgent)) return 'preview'
  return isbot(userAgent) || programs.test(userAgent) ? 'bot' : 'person'
}, maxUserAgent)
