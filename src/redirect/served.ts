export interface ServedDomain {
  readonly id: number
  readonly name: string
  readonly homepage_url: string | null
  readonly not_found_url: string | null
}

export interface ServedLink {
  readonly id: number
  readonly domain_id: number
  readonly alias: string
  readonly url: string
  readonly title: string | null
  readonly disabled: boolean
  readonly startsAt: number | null
  readonly endsAt: number | null
  readonly clicks_limit: number | null
  isUsedUp: boolean
  readonly expiration_url: string | null
  readonly redirect_password: string | null
  readonly forward_query: boolean
  readonly redirect_status: number
  ready: unknown
}
export interface Directory {
  domainNamed(name: string): ServedDomain | undefined
  linkOf(domain: ServedDomain, aliasFolded: string): ServedLink | null | Promise<ServedLink | null>
}
