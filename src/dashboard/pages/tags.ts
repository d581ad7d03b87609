import { recentDays } from '../../accounts/calendar.ts'
import { maxSummedLinks, recentClicksOfTags } from '../../analytics/recent-clicks.ts'
import { found } from '../../errors.ts'
import { createListQuery } from '../../forms/list-query.ts'
import { colors } from '../../forms/rules.ts'
import { html } from '../../http/html.ts'
import { capitalize, quantity } from '../../lib/format.ts'
import { trimText } from '../../lib/text.ts'
import { resources } from '../../resources.ts'
import type { Storage } from '../../storage/port.ts'
import type { TagActions } from '../../tags/actions.ts'
import { type Tag, tagLabels } from '../../tags/schema.ts'
import { findTag, findTagByName, listTagsByFigure } from '../../tags/store.ts'
import { loadTagNames } from '../choices.ts'
import type { AddGroupPages } from '../group.ts'
import { finalNote } from '../notice-messages.ts'
import { idParam, type PageContent, type PageRequest, type Pages, Redirect } from '../page.ts'
import { manyLinks, requireTyped, typedField } from '../parts/deletion.ts'
import { FormState, textField } from '../parts/fields.ts'
import { timeAgo } from '../parts/format.ts'
import { spaceLabel } from '../parts/links.ts'
import { confirmation } from '../parts/messages.ts'
import { formHandler, nameAndColor } from '../record-forms.ts'

const home = '/app/tags'
/** The API sorts by neither figure, because they have no index. */
const listQuery = createListQuery({ ...resources.tags, sorts: { ...resources.tags.sorts, links: '', clicks_30d: '' } })

interface Services {
  readonly storage: Storage
  readonly actions: { readonly tags: TagActions }
}

export function addTagPages(pages: Pages, addGroupPages: AddGroupPages, services: Services): void {
  const { tags } = services.actions
  const question = (state: FormState, request: PageRequest) => askToMerge(state, request, services)
  const answer = formHandler(question, (request) => merge(request, services))
  pages.get(`${home}/:id/merge`, 'tags:write', (request) => question(new FormState({}), request))
  pages.post(`${home}/:id/merge`, 'tags:write', answer)
  addGroupPages<Tag>({
    what: 'tag',
    words: {
      add: 'New tag',
      create: 'Create tag',
      why: 'Tags are words that describe links. A link has up to 20 tags, and a tag has any number of links.',
      created: 'Created',
      statistics: 'Clicks on links with this tag',
    },
    nameOf: ({ name }) => name,
    heading: spaceLabel,
    linksOf: ({ links }) => links,
    columns: async () => [
      { label: 'Color', isPlain: true, cell: ({ row }) => renderColor(row) },
      { label: 'Links', sortBy: 'links', isPlain: true, cell: ({ row }) => linksOf(row) },
    ],
    newLinkQuery: ({ name }) => ({ tags: name }),
    menuItems: ({ id }) => [{ label: 'Merge into…', href: `${home}/${id}/merge`, icon: 'tags', inDialog: true }],
    details: async (_request, tag) => facts(tag),
    deletion: async (tag, total, _links, account) => [
      `Delete ${tag.name}?`,
      total === 0 ? 'No link has this tag.' : await linksAndClicks(services, account, tag),
      ...(total === 0 ? [] : ['Links lose the tag and keep working.']),
    ],
    listQuery,
    // A form stays valid when only the number of links changes.
    actions: {
      ...tags,
      list: (account, page) =>
        page.sortBy === 'links' || page.sortBy === 'clicks_30d'
          ? listTagsByFigure(services.storage, account, page.sortBy, page)
          : tags.list(account, page),
      find: (account, id) => findTag(services.storage, account, id),
    },
    ...nameAndColor(tagLabels),
  })
}

function renderColor({ color }: Tag): string {
  return capitalize(colors[color - 1] ?? '')
}

/** Renders the number of links as a link to their list, which shows archived ones, too. */
function linksOf({ id, links }: Tag) {
  return html`<a href="/app/links?tag_id=${id}&amp;archived=any">${quantity(links, 'link')}</a>`
}

function facts(tag: Tag) {
  return html`<dl class="facts"><dt>Links</dt><dd>${linksOf(tag)}, including archived ones</dd>
<dt>Color</dt><dd>${renderColor(tag)}</dd><dt>Created</dt><dd>${timeAgo(tag.created_at, Date.now())}</dd></dl>`
}

/** Returns a sentence with the number of links of a tag and of their clicks. */
async function linksAndClicks({ storage }: Services, account: number, { id, links }: Tag): Promise<string> {
  const counts = quantity(links, 'link')
  if (links > maxSummedLinks) return `It has ${counts}.`
  const clicks = (await recentClicksOfTags(storage, account, [id])).get(id) ?? 0
  return `Its ${counts} had ${quantity(clicks, 'click')} in the last ${recentDays} days.`
}

async function askToMerge(state: FormState, request: PageRequest, services: Services): Promise<PageContent> {
  const { account } = request
  const tag = found(await services.actions.tags.find(account, idParam(request, 'tag')), 'tag').record
  const suggestions = (await loadTagNames(services.storage, account)).filter((name) => name !== tag.name)
  const typed = tag.links >= manyLinks ? typedField(state, tag.name) : null
  const into = textField(state, { name: 'into', label: 'Into', isRequired: true, hasFocus: true, suggestions })
  return confirmation({
    title: `Merge ${tag.name} into another tag`,
    section: 'tags',
    action: `${home}/${tag.id}/merge`,
    consequences: [
      await linksAndClicks(services, account, tag),
      `Its links get the other tag, and this tag is deleted. ${finalNote}`,
    ],
    controls: state.withErrors(html`${into}${typed}`),
    verb: `Merge ${tag.name}`,
    cancel: `${home}/${tag.id}`,
  })
}

async function merge(request: PageRequest, services: Services): Promise<Redirect> {
  const { account, actor, fields } = request
  const tag = found(await services.actions.tags.find(account, idParam(request, 'tag')), 'tag').record
  if (tag.links >= manyLinks) requireTyped(fields, tag.name)
  const name = typeof fields.into === 'string' ? trimText(fields.into) : ''
  const target = await findTagByName(services.storage, account, name)
  // The API takes an id.
  const into = name === '' ? '' : (target?.id ?? Number.MAX_SAFE_INTEGER)
  const { record } = await services.actions.tags.merge(actor, tag.id, { into }, null)
  return new Redirect(`${home}/${record.id}`, 'changes')
}
