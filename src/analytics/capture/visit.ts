import { createIsBotFromList, list } from 'isbot'
import { memoized } from '../../lib/lru-cache.ts'

/** Only the start of a user agent matters: in-app browsers append details. Characters. */
export const maxUserAgent = 512

/** A redirected visit in memory. Only its facts and a visitor hash are stored: see `facts.ts`. */
export interface Visit {
  readonly link: number
  /** The visited address. */
  readonly addressId?: number | null
  /** Unix milliseconds. */
  readonly atMs: number
  readonly class: VisitorClass
  /** Whether the visitor asks not to be tracked: `Sec-GPC` or `DNT`. */
  readonly isPrivate: boolean
  /** The client's IP address, possibly forwarded by a proxy. */
  readonly ipAddress: string
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
export type VisitorClass = 'person' | 'bot' | 'preview'

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
  ...['^dart/', 'powershell/', '\\bcfnetwork/', '\\bdalvik/(?!.* applewebkit )', '^reactornetty/'],
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
  // Televisions with Opera: “Catcher4.69”.
  catch: 'catch(?!er\\d)',
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

/** A phone's browser that describes itself without spaces: “dv(iPh14,5);pr(UCBrowser/13.9.0.1727);…”. */
const ucBrowser = /^dv\(.*;pr\(UCBrowser\//

/**
 * The user agent of a browser on a computer, with the text before and after the name of its engine: Chromium 80, Safari 16,
 * Firefox 90 or newer. Older browsers put their names anywhere. `browser-headers.ts` judges them.
 */
const browserAtDesk =
  /^Mozilla\/5\.0 \((?:Windows NT|Macintosh|X11)[^()]*\) (?:AppleWebKit\/[\d.]+ \(KHTML, like Gecko\)|Gecko\/\S+) (?<before>.*?)(?:Chrome\/(?:[89]|\d\d)\d|Version\/(?:1[6-9]|[2-9]\d)|Firefox\/(?:9|\d\d)\d)\S*(?<after>.*)$/
/** An app on a computer. All browsers there start with “Mozilla”, except Opera. */
const appAtDesk = /^(?!Mozilla\/|Opera\/)\S+ \((?:Mac|OS X|Windows NT|X11)(?!.*Mozilla)/i
/** A program inside WebKit's comment, or with a page's host: “+devin.ai”. */
const programInWebKit = /\(KHTML, like Gecko;|[ ;(]\+[a-z\d-]+\.[a-z]/i
/** A name with its version. */
const namedVersion = /([^\s/;()]+)\/([^\s;()]*)/g
const engine = /^(?:Version|QtWebEngine|Chromium|Safari)$/

/**
 * Returns whether the user agent has the name of a program. On computers, browsers put their name at the end, with a version of
 * three or more numbers or the engine's version, or call themselves browser. Apps put theirs before the engine's, as Electron does,
 * or have versions such as 1.0. On phones, such names belong to apps that show pages to people.
 */
function hasProgramName(userAgent: string): boolean {
  if (/browser\//i.test(userAgent)) return false
  if ([programInWebKit, appAtDesk, /\bElectron\//].some((pattern) => pattern.test(userAgent))) return true
  const { before, after } = browserAtDesk.exec(userAgent)?.groups ?? {}
  if (before === undefined || after === undefined || /\bMobile\b/.test(after)) return false
  const read = (text: string) => [...text.matchAll(namedVersion)].filter(([, name = '']) => !engine.test(name))
  const [first, last] = [read(before), read(after)]
  if (first.length > 0) return true
  const versions = last.map(([, , version = '']) => version)
  const isShort = (version: string) => /^\d+\.\d+$/.test(version) && !userAgent.includes(`Version/${version} `)
  return versions.some(isShort) && !versions.some((version) => /\d\.\d+\.\d/.test(version))
}

/** Returns the class by the user agent. Without one it is a person, because privacy proxies remove it. */
export function classifyAgent(method: string, userAgent: string | undefined): VisitorClass {
  if (method === 'HEAD') return 'preview'
  if (userAgent === undefined || userAgent === '') return 'person'
  return judged(userAgent)
}

const judged = memoized((userAgent): VisitorClass => {
  if (unfurlers.test(userAgent)) return 'preview'
  if (ucBrowser.test(userAgent)) return 'person'
  const known = userAgent.replace(device, (text) => (programInDevice.test(text) ? text : reducedDevice))
  return isProgram(known) || hasProgramName(known) ? 'bot' : 'person'
}, maxUserAgent)
