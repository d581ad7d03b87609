/** "Test this link" on the link page: what a visitor would get, and why. */
import { type Html, html, type Part } from '../../http/html.ts'
import type { Link } from '../../links/schema.ts'
import { type Explain, type Explanation, explainQuery } from '../../rules/explanation.ts'
import { describeDecision, describeOutcome, listedValue } from '../../rules/words.ts'
import type { PageRequest } from '../page.ts'
import { hiddenFields, submitButton } from '../parts/buttons.ts'
import { type Choice, collapsibleSection, FormState, selectField, textField } from '../parts/fields.ts'
import { choicesOf, ruleSentence } from '../parts/rules.ts'
import { formZone, timeField, withUtcTimes, zoneFields } from '../parts/time-zones.ts'
import { externalLink, shortLink } from './link-facts.ts'

/** Typical visitors: a label and a user agent. */
const visitors = {
  windows: [
    'Windows',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
  ],
  mac: [
    'Mac',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15',
  ],
  iphone: [
    'iPhone',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
  ],
  android: [
    'Android phone',
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36',
  ],
  ipad: [
    'iPad',
    'Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
  ],
  tv: [
    'TV',
    'Mozilla/5.0 (SMART-TV; Linux; Tizen 7.0) AppleWebKit/537.36 (KHTML, like Gecko) Version/7.0 TV Safari/537.36',
  ],
  bot: ['Bot of a search engine', 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'],
  preview: ['Link preview of a chat', 'WhatsApp/2.24.20.89 A'],
} as const

/** The parameters of the page that choose the period of its statistics. */
const ofStatistics = ['period', 'from', 'to', 'compare']

/** Renders the form and, if it was sent, what the visitor gets. `isInvalid` is true if the form has errors. */
export async function linkTest({ query, account, session }: PageRequest, link: Link, path: string, explain: Explain) {
  const zone = formZone({ session, fields: query })
  const { country, language: accept_language, at, query: ofVisit } = withUtcTimes(query, ['at'], zone)
  const device = Object.keys(visitors).find((name) => name === query.device) ?? 'windows'
  const user_agent = visitors[device as keyof typeof visitors][1]
  const assumed = { country, accept_language, at, query: ofVisit, user_agent }
  const isSent = query.device !== undefined
  const violations = explainQuery
    .read(assumed)
    .violations.map(({ field, refusal }) => refusal.at(field === 'accept_language' ? 'language' : field))
  const isInvalid = isSent && violations.length > 0
  const state = new FormState({ ...query, device }, isSent ? violations : [])
  const result = isSent && !isInvalid ? resultOf(await explain(account, link.id, assumed), link, zone) : null
  const period = Object.fromEntries(
    ofStatistics.flatMap((name) => (typeof query[name] === 'string' ? [[name, query[name]]] : [])),
  )
  const form = html`<form method="get" action="${path}#test-result" class="test-form">${hiddenFields(period)}${zoneFields(zone)}
${state.withErrors(controlsOf(state, link, zone))}${submitButton({ label: 'Test', weight: 'plain' })}</form>`
  const isOpen = isSent || link.rules.length > 0
  const section = html`<section id="test">${collapsibleSection('Test this link', '', isOpen, html`${form}${result}`)}</section>`
  return { section, isInvalid }
}

/** Renders the controls that can make a difference. */
function controlsOf(
  state: FormState,
  { rules, forward_query, active_period_start_at, active_period_end_at }: Link,
  zone: string,
) {
  const unknown = { value: '', label: 'Unknown' }
  const select = (name: string, label: string, options: readonly Choice[]) =>
    selectField(state, { name, label, options })
  const choices = (name: 'countries' | 'languages'): Choice[] =>
    choicesOf(name).map(({ value, text }) => ({ value, label: text }))
  const ranges = [...new Set(rules.flatMap(({ languages = [] }) => languages))].filter((range) => range.includes('-'))
  const dialects = ranges.map((value) => ({ value, label: listedValue('languages', value) }))
  const hasRules = rules.length > 0
  const hasTimes = hasRules || active_period_start_at !== null || active_period_end_at !== null
  const hasQuery = forward_query || rules.some((rule) => rule.query !== undefined)
  const devices = Object.entries(visitors).map(([value, [label]]) => ({ value, label }))
  return html`${hasRules ? select('country', 'Country', [unknown, ...choices('countries')]) : null}
${hasRules ? select('language', 'Language', [unknown, ...choices('languages'), ...dialects]) : null}
${select('device', 'Device', devices)}
${hasTimes ? timeField(state, { name: 'at', label: 'Time', help: 'Empty: now.' }, zone) : null}
${hasQuery ? textField(state, { name: 'query', label: 'Query of the visited URL', placeholder: 'utm_source=print', isCode: true }) : null}`
}

function resultOf(explanation: Explanation, link: Link, zone: string): Html {
  const [before, after] = describeOutcome(explanation)
  const { location, rule, checks } = explanation
  const target: Part = location && externalLink(location, html`<bdi>${location}</bdi>`)
  const decided = checks.findIndex((check) => check.rule === rule)
  const sentences = link.rules.map((each, at) => {
    const { matches = false, failed = [] } = checks[at] ?? {}
    const sentence = ruleSentence(each, zone, shortLink, failed)
    if (at === decided) return html`<li><strong>${sentence}</strong></li>`
    return html`<li>${sentence}${matches && decided !== -1 ? ` (matches, but rule ${decided + 1} decides)` : null}</li>`
  })
  const decision = describeDecision(explanation)
  return html`<div class="test-result stack" id="test-result" tabindex="-1"><p>${before}${target}${after}</p>
${decision === null ? null : html`<p>${decision}</p>`}
${sentences.length === 0 ? null : html`<ol class="rules">${sentences}</ol>`}</div>`
}
