import { describeOperations } from '../api/operations.ts'
import { listLinksQuery } from './filters.ts'
import { type LinkRow, linkOf, linkSchema, storeLink, updateLink } from './schema.ts'

const example = { url: 'https://acme.com/summer?ref=short', alias: 'summer', title: 'Summer sale' }
const exampleRow = {
  ...storeLink.read(example).values,
  id: 1,
  domain_id: 1,
  domain_name: 'go.acme.com',
  tags: 'Campaign,Summer',
  ...{ redirect_password: null, clicks: 0, last_clicked_ms: null },
  ...{ created_at: '2026-11-20T12:00:00.000Z', updated_at: '2026-11-20T12:00:00.000Z' },
} as unknown as LinkRow

export const linkOperations = describeOperations('links', {
  description: 'Short links: each redirects an alias on a domain to a URL.',
  record: linkSchema,
  listQuery: listLinksQuery,
  store: {
    form: storeLink,
    failures: ['alias_taken'],
    description: 'Without `domain_id`, the link gets your oldest domain. Without `alias`, Waymark generates one.',
    example,
    refused: { url: 'acme.com', redirect_status: '303' },
  },
  update: {
    form: updateLink,
    failures: ['alias_taken'],
    description:
      'Visitors see the change immediately, and within a second on every other node. The domain cannot be changed.',
    example: { url: 'https://acme.com/winter', active_period_end_at: '2026-12-31 23:59' },
  },
  example: linkOf(exampleRow, (domain, alias) => `https://${domain}/${alias}`),
})
