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
  /** 1; more for merged visits, which only have a link, a class and an hour. */
  readonly count: number
}

/** Visits in a message to the thread: numbers, and the texts that these refer to, separated by line feeds. */
export interface PackedVisits {
  readonly numbers: Float64Array<ArrayBuffer>
  readonly texts: string
}

const classes = ['person', 'bot', 'preview'] as const satisfies readonly VisitorClass[]
const textFields = ['address', 'host', 'userAgent', 'referrer', 'languages', 'country'] as const
const fieldCount = 5 + textFields.length

/** Packs visits. Each text is sent once. Headers have no line feeds (RFC 9110 §5.5). */
export function packVisits(visits: readonly Visit[]): PackedVisits {
  const numbers = new Float64Array(visits.length * fieldCount)
  const places = new Map<string, number>()
  let at = 0
  for (const visit of visits) {
    numbers[at++] = visit.link
    numbers[at++] = visit.atMs
    numbers[at++] = visit.count
    numbers[at++] = classes.indexOf(visit.class)
    numbers[at++] = visit.isPrivate ? 1 : 0
    for (const field of textFields) {
      const text = visit[field]
      const place = places.get(text) ?? places.size
      if (place === places.size) places.set(text, place)
      numbers[at++] = place
    }
  }
  return { numbers, texts: [...places.keys()].join('\n') }
}

/** Returns packed visits. Equal texts are the same string, which saves memory. */
export function unpackVisits({ numbers, texts }: PackedVisits): Visit[] {
  const all = texts.split('\n')
  return Array.from({ length: numbers.length / fieldCount }, (_, visit) => {
    const number = (field: number) => numbers[visit * fieldCount + field] as number
    const text = (field: number) => all[number(5 + field)] as string
    return {
      link: number(0),
      atMs: number(1),
      count: number(2),
      class: classes[number(3)] as VisitorClass,
      isPrivate: number(4) === 1,
      address: text(0),
      host: text(1),
      userAgent: text(2),
      referrer: text(3),
      languages: text(4),
      country: text(5),
    }
  })
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

const judged = memoized(maxUserAgent, (userAgent): VisitorClass => {
  if (apps.test(userAgent)) return 'person'
  if (unfurlers.test(userAgent)) return 'preview'
  return isbot(userAgent) || programs.test(userAgent) ? 'bot' : 'person'
})
