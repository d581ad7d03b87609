import { createIsBotFromList, list } from 'isbot'
import { memoized } from '../../lib/lru-cache.ts'

/** Only the start of a user agent matters: in-app browsers append details. Characters. */
export const maxUserAgent = 512

/** A redirected visit in memory. Only its facts and a visitor hash are stored: see `facts.ts`. */
export interface Visit {
  readonly link: number
  /** The further address of the link that was visited; null or absent for the main one. */
  readonly addressId?: number | null
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
  /** The value of the rule or variant that decided the destination in statistics; null for the link's URL. */
  readonly rule: string | null
  /** 1; more for merged visits, which only have an address, a class and a quarter of an hour. */
  readonly count: number
}

/** A person, a program such as a crawler, or a program that shows a preview of the destination, such as a messenger. */
type VisitorClass = 'person' | 'bot' | 'preview'

/**
 * Programs that show previews. A name that apps share only counts at the start: `Pinterest/0.2` and `Viber/12` show
 * previews, `Mozilla/5.0 … [Pinterest/iOS]` and `Mozilla/5.0 … Viber/11` belong to people.
 */
const unfurlers = new RegExp(
  [
    ...['slackbot', 'slack-imgproxy', 'discordbot', 'telegrambot', '^whatsapp\\b', '^signal-desktop/', '^viber/'],
    ...['facebookexternalhit', 'facebot', 'facebookexternalua', 'meta-externalfetcher', 'twitterbot', 'linkedinbot'],
    ...['skypeuripreview', 'microsoftpreview', 'bingpreview', '; ms-office\\b', '^microsoft office\\b'],
    ...['^outlook-(ios|android)/', 'google web preview', 'google-pagerenderer', '^googlemessages\\b', 'imageproxy'],
    ...['mailproxy', 'websitemetadataretriever', '(^|\\()(mastodon|pleroma|akkoma|misskey|lemmy)[/ ]'],
    ...['summalybot', 'cardyb', '^bluesky\\b', 'blueskypreviewbot', 'iframely', 'embedly', 'redditbot'],
    ...['pinterestbot', '^pinterest/\\d', 'vkshare', 'line-poker', 'kakaotalk-scrap', 'snap url preview', '^tumblr/'],
    ...['^mattermost\\b', '^rocket\\.?chat\\b', '^synapse \\(bot\\b', 'zulipurlpreview', '^discourse forum onebox\\b'],
    ...['wordpress\\.com mshots', '^notion\\b', 'xing-contenttabreceiver', '\\boutbrain$', 'flipboardproxy'],
    ...['\\bopengraph\\b', 'link ?preview'],
  ].join('|'),
  'i',
)

/** Programs that `isbot` takes for people: libraries, monitors that are browsers, and mail scanners. */
const programs = [
  ...['^dart/', 'powershell/', '\\bcfnetwork/', '\\bdalvik/', '^reactornetty/'],
  ...['\\bgtmetrix\\b', '\\bminiature\\.io/', '\\bsphinx/', '\\bylt\\b'],
  ...['proofpoint', 'mimecast', 'barracuda', 'symantec', 'trend ?micro', 'forcepoint', 'fireeye', 'safelinks'],
]

/** Patterns of `isbot` that match browsers, and the patterns in their place; null if others match the same bots. */
export const replacements: Readonly<Record<string, string | null>> = {
  // WeChat: “Process/toolsmp”.
  tools: '(?<!process/)tools',
  // Phones with Java ME: “JavaPlatform/JP-8.5”.
  'java(?!;)': '\\bjava(?![;_]|platform|/jbed)',
  // Televisions and Samsung's Bada: “CE-HTML/1.0;”.
  '\\b\\w+/1\\.0;': '\\bcompatible; [\\w-]+/1\\.0;',
  // Apps with articles: “NewsArticle/5.1.3”, “AppleNews/607”.
  '(?:^|[^g])news(?!sapphire)': '(?:^|[ (])(?:net)?news(?!article|lite|sapphire|/)',
  // Download managers within Internet Explorer: “QQDownload 691”.
  download: '(?<!qq)download',
  // Browsers and their plugins. Alipay separates values by “|”. Instagram's list of values may end with “;”.
  ...{ sogou: null, chromeframe: null, firephp: null, offbyone: null, browsex: null, '^amaya': null, '^netsurf': null },
  ...{ '\\|': null, ';\\s\\w+;$': null },
}

const isProgram = createIsBotFromList([
  ...list.flatMap((pattern) => (replacements[pattern] === undefined ? pattern : (replacements[pattern] ?? []))),
  ...programs,
])

/** The device of a phone or tablet. Its maker chose the model's name, such as “Discovery 1001A” or “M bot 60”. */
const device = /\([^()]*\b(?:Android|Windows Phone)\b[^()]*\)/
/** What Chrome sends instead of a device's model. */
const reducedDevice = '(Linux; Android 10; K)'
/** The name or the address of a program among the details of a device: “Storebot-Google/1.0”. Cubot makes phones. */
const programInDevice = /https?:|@|[a-z](?<!cu)bot\b|-google\//i

/** Returns the class of a visit. Without a user agent it is a person, because privacy proxies remove it. */
export function classOf(method: string, userAgent: string | undefined): VisitorClass {
  if (method === 'HEAD') return 'preview'
  if (userAgent === undefined || userAgent === '') return 'person'
  return judged(userAgent)
}

const judged = memoized((userAgent): VisitorClass => {
  if (unfurlers.test(userAgent)) return 'preview'
  const known = userAgent.replace(device, (text) => (programInDevice.test(text) ? text : reducedDevice))
  return isProgram(known) ? 'bot' : 'person'
}, maxUserAgent)
