import { isbot } from 'isbot'
import { byUserAgent } from './by-user-agent.ts'

/**
 * Who followed a link: a person; a program on its own account, such as a crawler; or one that shows people where the
 * link leads, as messengers do under a message.
 */
export type VisitorClass = 'person' | 'bot' | 'preview'

/**
 * Programs that unfurl links. Some messengers name each other's, and apps whose browser names them are people: hence
 * `pinterest/0.2`, and not `[Pinterest/iOS]`; `Viber/12` at the beginning, and not `Chrome/66 … Viber/11`.
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

/** Apps for people: messengers at a desk, and one in whose user agent `isbot` finds the mark of a program. */
const apps = /\bElectron\/|\bAlipayClient\//

/** What `isbot` takes for people: libraries, and scanners of mail that say whose they are. Most pass for a browser. */
const programs = new RegExp(
  [
    ...['^dart/', 'powershell/', '\\bcfnetwork/', '\\bdalvik/'],
    ...['proofpoint', 'mimecast', 'barracuda', 'symantec', 'trend ?micro', 'forcepoint', 'fireeye', 'safelinks'],
  ].join('|'),
  'i',
)

/** The class of a visit. One without a user agent is a person's: proxies that protect their users remove it. */
export function classOf(method: string, userAgent: string | undefined): VisitorClass {
  if (method === 'HEAD') return 'preview'
  if (userAgent === undefined || userAgent === '') return 'person'
  return judged(userAgent)
}

const judged = byUserAgent((userAgent): VisitorClass => {
  if (apps.test(userAgent)) return 'person'
  if (unfurlers.test(userAgent)) return 'preview'
  return isbot(userAgent) || programs.test(userAgent) ? 'bot' : 'person'
})
