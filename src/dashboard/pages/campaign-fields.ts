/** The fields of the link form that write the destination's campaign (UTM) parameters. */
import type { Fields } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { trimText } from '../../lib/text.ts'
import { maxTargetLength, parseWebUrl } from '../../names/web-url.ts'
import { resources } from '../../resources.ts'
import type { Listable, Storage } from '../../storage/port.ts'
import { hiddenFields } from '../parts/buttons.ts'
import { collapsibleSection, type FormState, textField } from '../parts/fields.ts'
import { truncateMiddle } from '../parts/links.ts'
import { type Campaign, campaignParameters, readCampaign, writeCampaign } from '../scripts/destination.js'

type Parameter = keyof Campaign

/** Values of each parameter, newest first. */
export type Suggestions = Readonly<Record<Parameter, readonly string[]>>

const controls: Readonly<Record<Parameter, { readonly label: string; readonly help: string }>> = {
  utm_source: { label: 'Source', help: 'The origin, such as newsletter.' },
  utm_medium: { label: 'Medium', help: 'The channel, such as email.' },
  utm_campaign: { label: 'Campaign', help: 'The name, such as spring-sale.' },
  utm_term: { label: 'Term', help: 'The keyword of an ad.' },
  utm_content: { label: 'Content', help: 'The version, such as header-link.' },
}

const maxSummaryCharacters = 24
/** Longer values stay in the destination. The fields repeat what the destination has, and forms are limited to 160 KiB. */
const maxValueLength = 250

/** Renders the fields. Scripts keep them in step with the destination. */
export function campaignSection(state: FormState, suggestions: Suggestions): Html {
  const set = campaignParameters.map((name) => state.field(name).value).filter((value) => value !== '')
  const fields = campaignParameters.map((name) =>
    textField(state, { name, ...controls[name], maxLength: maxValueLength, suggestions: suggestions[name] }),
  )
  // A rejected form keeps the values that it was opened with.
  const shown = campaignParameters.map((name) => {
    const value = state.values[shownName(name)] ?? state.field(name).value
    return [shownName(name), String(value)] as const
  })
  const body = html`<p class="help">Sets the UTM parameters in the query of the destination.</p>
<div class="campaign">${fields}</div>${hiddenFields(Object.fromEntries(shown))}`
  const summary = set.map((value) => truncateMiddle(value, maxSummaryCharacters)).join(', ')
  return collapsibleSection('Campaign (UTM)', summary, false, body)
}

/** Returns the form values for this destination. */
export function campaignValues(url: unknown): Fields {
  const campaign = Object.entries(readCampaign(typeof url === 'string' ? url : ''))
  return Object.fromEntries(campaign.filter(([, value]) => value.length <= maxValueLength))
}

/**
 * Returns the form without the campaign fields, whose edited values are in the destination. An edited field has another
 * value than the page showed. It overrides the destination, which overrides all other fields.
 */
export function mergeCampaign(form: Fields): Fields {
  const fields = { ...form }
  const edited: Partial<Campaign> = {}
  for (const name of campaignParameters) {
    const [value, shown = ''] = [fields[name], fields[shownName(name)]]
    if (typeof value === 'string' && value !== shown) edited[name] = value
    delete fields[name]
    delete fields[shownName(name)]
  }
  const url = typeof fields.url === 'string' ? trimText(fields.url) : ''
  // The error about an invalid destination names what people typed.
  const isValid = typeof parseWebUrl(url, maxTargetLength) === 'string'
  return isValid && Object.keys(edited).length > 0 ? { ...fields, url: writeCampaign(url, edited) } : fields
}

/** Returns the hidden field's name. It has the value that the page showed. */
function shownName(name: Parameter): string {
  return `shown_${name}`
}

const destinations: Listable<{ readonly id: number; readonly url: string }> = {
  table: 'links',
  columns: ['id', 'url'],
  ...resources.links,
}

/** The newest links whose values are suggested. */
const maxLinks = 300
/** Characters of destinations that are read, which takes a few milliseconds. */
const maxRead = 60_000
const maxSuggestions = 20
const maxSuggestionLength = 100

/**
 * Returns the values in the newest destinations of the account that have parameters. Where the search index can't find
 * them quickly, only the newest links are read.
 */
export async function loadSuggestions(storage: Storage, account: number): Promise<Suggestions> {
  const list = async (search: string[]) => (await storage.list({ ...newest, account, search })).rows
  const found = await list(['utm_'])
  const rows = found.length > 0 ? found : await list([])
  let read = 0
  const campaigns = rows.flatMap(({ url }) => {
    read += url.length
    return read <= maxRead ? readCampaign(url) : []
  })
  const values = campaignParameters.map((name) => {
    const used = campaigns
      .map((campaign) => campaign[name])
      .filter(({ length }) => length > 0 && length <= maxSuggestionLength)
    return [name, [...new Set(used)].slice(0, maxSuggestions)]
  })
  return Object.fromEntries(values)
}

const newest = {
  of: destinations,
  filter: {},
  searchIn: ['url'],
  sortBy: 'id',
  direction: 'desc',
  offset: 0,
  limit: maxLinks,
  after: null,
  withoutScan: true,
} as const
