import assert from 'node:assert/strict'
import { test } from 'node:test'
import { classOf, type VisitorClass } from './visitor-class.ts'

const webkit = 'AppleWebKit/537.36 (KHTML, like Gecko)'
const iphone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)'
const android = 'Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/UD1A.230803.041; wv)'

const agents: Readonly<Record<VisitorClass, readonly string[]>> = {
  person: [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/131.0.0.0 Safari/537.36`,
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/131.0.0.0 Safari/537.36 Edg/131.0.2903.51`,
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/114.0.0.0 Safari/537.36 OPR/100.0.0.0`,
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:132.0) Gecko/20100101 Firefox/132.0',
    'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
    `Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${webkit} Chrome/131.0.0.0 Safari/537.36`,
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15',
    `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${webkit} Chrome/131.0.0.0 Safari/537.36`,
    `${iphone} Version/18.1 Mobile/15E148 Safari/604.1`,
    `${iphone} CriOS/131.0.6778.73 Mobile/15E148 Safari/604.1`,
    `${iphone} FxiOS/132.0 Mobile/15E148 Safari/605.1.15`,
    `${iphone} Mobile/15E148 [FBAN/FBIOS;FBAV/487.0.0.40.110;FBDV/iPhone15,2;FBMD/iPhone;FBSN/iOS;FBSV/18.1]`,
    `${iphone} Mobile/15E148 Instagram 355.0.0.29.81 (iPhone15,2; iOS 18_1; en_US; en; scale=3.00; 1179x2556)`,
    `${iphone} Mobile/15E148 [Pinterest/iOS]`,
    `${iphone} Mobile/15E148 Twitter for iPhone/10.67`,
    `${iphone} Mobile/15E148 [LinkedInApp]/9.30.1234`,
    `${iphone} Mobile/15E148 Snapchat/13.12.0.40 (like Safari/8619.2.8, panda)`,
    `${iphone} Mobile/15E148 Safari Line/14.18.1`,
    `${iphone} GSA/343.0.695551749 Mobile/15E148 Safari/604.1`,
    `${android} ${webkit} Version/4.0 Chrome/131.0.6778.39 Mobile Safari/537.36 [Pinterest/Android]`,
    `${android} ${webkit} Version/4.0 Chrome/130.0.0.0 Mobile Safari/537.36 [FB_IAB/FB4A;FBAV/488.0.0.78.79;]`,
    `Mozilla/5.0 (Linux; Android 10; K) ${webkit} Chrome/131.0.0.0 Mobile Safari/537.36`,
    `Mozilla/5.0 (Linux; Android 13; SM-S901B) ${webkit} SamsungBrowser/26.0 Chrome/122.0.0.0 Mobile Safari/537.36`,
    'Mozilla/5.0 (Android 14; Mobile; rv:132.0) Gecko/132.0 Firefox/132.0',
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Teams/24295.605.3225.8804 Chrome/128.0 Electron/32.2 Safari/537.36`,
  ],
  bot: [
    'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
    'Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)',
    'Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)',
    'DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)',
    'Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)',
    'Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)',
    'Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)',
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)',
    'Mozilla/5.0 (compatible; ClaudeBot/1.0; +claudebot@anthropic.com)',
    'CCBot/2.0 (https://commoncrawl.org/faq/)',
    'Mozilla/5.0 (compatible; PetalBot;+https://webmaster.petalsearch.com/site/petalbot)',
    'meta-externalagent/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)',
    'Mozilla/5.0 (compatible; archive.org_bot +http://archive.org/details/archive.org_bot)',
    'Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)',
    'Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)',
    `Mozilla/5.0 (X11; Linux x86_64) ${webkit} HeadlessChrome/131.0.0.0 Safari/537.36`,
    'curl/8.5.0',
    'Wget/1.21.4',
    'python-requests/2.32.3',
    'Go-http-client/2.0',
    'okhttp/4.12.0',
    'node',
    'axios/1.7.7',
    'Java/17.0.2',
    '',
  ],
  preview: [
    'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
    'Slackbot 1.0 (+https://api.slack.com/robots)',
    'Slack-ImgProxy (+https://api.slack.com/robots)',
    'Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)',
    'TelegramBot (like TwitterBot)',
    'WhatsApp/2.24.22.78 A',
    'WhatsApp/2',
    'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
    'meta-externalfetcher/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)',
    'Twitterbot/1.0',
    'LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0',
    'Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com',
    `Mozilla/5.0 ${webkit} (compatible; MicrosoftPreview/2.0; +https://aka.ms/MicrosoftPreview) Chrome/112.0.0.0 Safari/537.36`,
    'Mozilla/4.0 (compatible; ms-office; MSOffice 16)',
    'Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.18129; Pro)',
    'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
    'Mastodon/4.3.1 (http.rb/5.2.0; +https://mastodon.social/) Bot',
    'http.rb/5.1.1 (Mastodon/4.2.1; +https://mas.to/) Bot',
    'Pleroma 2.6.0; https://pleroma.example <admin@pleroma.example>; Bot',
    'SummalyBot/5.1.0',
    'Mozilla/5.0 (compatible; Bluesky Cardyb/1.1; mailto:support@bsky.app)',
    'Iframely/1.3.1 (+https://iframely.com/docs/about)',
    'Mozilla/5.0 (compatible; Embedly/0.2; +http://support.embed.ly/)',
    'Mozilla/5.0 (compatible; redditbot/1.0; +http://www.reddit.com/feedback)',
    'Pinterest/0.2 (+https://www.pinterest.com/bot.html)',
    'Mozilla/5.0 (compatible; Pinterestbot/1.0; +https://www.pinterest.com/bot.html)',
    'Mozilla/5.0 (compatible; vkShare; +http://vk.com/dev/Share)',
    'facebookexternalhit/1.1;line-poker/1.0',
    'facebookexternalhit/1.1; kakaotalk-scrap/1.0; +https://devtalk.kakao.com/t/scrap/33984',
    'Synapse (bot; +https://github.com/matrix-org/synapse)',
    'Mozilla/5.0 (compatible; ZulipURLPreview/9.2; +https://zulip.example)',
  ],
}

for (const [expected, all] of Object.entries(agents)) {
  for (const agent of all) {
    test(`${expected}: ${agent}`, () => {
      assert.equal(classOf('GET', agent), expected)
      assert.equal(classOf('GET', agent), expected, 'from memory')
    })
  }
}

test('preview: every HEAD', () => assert.equal(classOf('HEAD', agents.person[0]), 'preview'))

test('bot: a visitor without a user agent', () => assert.equal(classOf('GET', undefined), 'bot'))

test('a user agent of any length is judged by its beginning', () => {
  assert.equal(classOf('GET', `${agents.person[0]}${' x'.repeat(50_000)}`), 'person')
  assert.equal(classOf('GET', `${agents.preview[0]}${' x'.repeat(50_000)}`), 'preview')
})
