import type { Static, TString } from 'typebox'
import { clearable, fixed, form, type LabelsOf, optional, type Rule, required } from '../forms/form.ts'
import { assignedFields, idSchema, orNull, Type, timestamps } from '../forms/json-schema.ts'
import { createListQuery } from '../forms/list-query.ts'
import { urlOrNull, webUrl } from '../forms/rules.ts'
import { type HostName, parseHostName } from '../names/host-name.ts'
import { resources } from '../resources.ts'
import { appleAppSiteAssociation, assetLinks } from './app-links.ts'

const name = Type.String({
  format: 'hostname',
  maxLength: 253,
  description: 'The host name in lower-case ASCII, unique in the instance.',
})

const hostName: Rule<HostName> = {
  schema: Type.Union([Type.String({ format: 'hostname' }), Type.String({ pattern: '[^\\u0000-\\u007f]' })], {
    description:
      'A host name such as `go.acme.com`, case-insensitive, in ASCII or Unicode, without a scheme, port or path.',
  }),
  parse: parseHostName,
}

const homepage = 'The destination of the bare domain: an absolute http or https URL.'
const notFound = 'The destination of unknown links on the domain: an absolute http or https URL.'

/** A domain in the database and in responses. */
export const domainSchema = Type.Object(
  {
    id: idSchema,
    name,
    name_unicode: Type.String({ description: 'The host name in Unicode.' }),
    homepage_url: urlOrNull(homepage),
    not_found_url: urlOrNull(notFound),
    apple_app_site_association: orNull(appleAppSiteAssociation.schema as TString),
    asset_links: orNull(assetLinks.schema as TString),
    ...timestamps,
  },
  { $id: 'Domain', additionalProperties: false },
)

export type Domain = Static<typeof domainSchema>

const assigned = [...assignedFields, 'name_unicode']

export const storeDomain = form(
  {
    name: required(hostName),
    homepage_url: optional(webUrl(homepage), null),
    not_found_url: optional(webUrl(notFound), null),
    apple_app_site_association: optional(appleAppSiteAssociation, null),
    asset_links: optional(assetLinks, null),
  },
  assigned,
)

/** The field labels on pages and in error messages. */
export const domainLabels = {
  name: 'Host name',
  homepage_url: 'Homepage',
  not_found_url: 'Destination for unknown links',
  apple_app_site_association: 'iOS app links',
  asset_links: 'Android app links',
} as const satisfies LabelsOf<typeof storeDomain>

/** Not derived from `storeDomain`, because absent fields must stay unchanged. */
export const updateDomain = form(
  {
    name: fixed(Type.String({ readOnly: true, description: 'Cannot be changed. The current name may be sent.' })),
    homepage_url: clearable(webUrl(homepage)),
    not_found_url: clearable(webUrl(notFound)),
    apple_app_site_association: clearable(appleAppSiteAssociation),
    asset_links: clearable(assetLinks),
  },
  assigned,
)

export const listDomainsQuery = createListQuery(resources.domains)
