import { deletionQuery } from '../api/handlers.ts'
import { describeOperations } from '../api/operations.ts'
import { form, optional } from '../forms/form.ts'
import { oneOf } from '../forms/rules.ts'
import { domainSchema, listDomainsQuery, storeDomain, updateDomain } from './schema.ts'

export const removeDomainQuery = form({
  ...deletionQuery.fields,
  links: optional(oneOf(['delete'], '`delete` deletes the links and further addresses on the domain too.'), null),
})

export const domainOperations = describeOperations('domains', {
  description:
    'Host names for short links. Each can have a homepage URL, a URL for unknown links, and the files that let apps open its links.',
  record: domainSchema,
  listQuery: listDomainsQuery,
  store: {
    form: storeDomain,
    failures: ['name_taken'],
    example: { name: 'go.acme.com', homepage_url: 'https://acme.com', not_found_url: 'https://acme.com/lost' },
    refused: { name: 'https://go.acme.com/', homepage_url: 'acme.com' },
  },
  update: {
    form: updateDomain,
    description:
      'Changes the URLs and the app links of a domain. An empty value clears the field. The name cannot be changed.',
    example: { homepage_url: 'https://acme.com/shop', not_found_url: 'https://acme.com/lost' },
  },
  delete: {
    query: removeDomainQuery,
    description:
      'To delete a domain that has links, send `links=delete`, which deletes the links too. Links on other domains only lose their further addresses on this domain.',
    refused: { links: 'keep' },
    failures: ['domain_in_use'],
  },
  example: {
    id: 1,
    name: 'go.acme.com',
    name_unicode: 'go.acme.com',
    homepage_url: 'https://acme.com',
    not_found_url: 'https://acme.com/lost',
    apple_app_site_association: null,
    asset_links: null,
    created_at: '2026-11-20T12:00:00.000Z',
    updated_at: '2026-11-20T12:00:00.000Z',
  },
})
