/** The tables of both engines. Flags are 0 and 1. Times are RFC 3339, or Unix milliseconds in `…_ms`. */
import type { Generated, GeneratedAlways } from 'kysely'
import type { ImportTables } from './import-tables.ts'

/** Columns of all records of accounts. */
export interface OwnedRecord {
  id: Generated<number>
  /** 0 while the record is being removed. */
  account_id: number
  created_at: string
  updated_at: string
  /** The number of states that the record has had. */
  revision: Generated<number>
}

interface RecentClicks {
  id: number
  account_id: number
  clicks_30d: Generated<number>
}

/** Every table with its columns. */
export interface Database extends ImportTables {
  /** Work in steps, one row for each subject: see `jobs/`. The row is deleted when the work is done. */
  jobs: {
    id: Generated<number>
    kind: string
    record: string
    record_id: number
    /** Null for work on all accounts. */
    account_id: number | null
    /** The person or program that asked for the job, as JSON; null for Waymark itself. */
    actor: string | null
    state: string
    input: string | null
    position: Generated<number>
    done: Generated<number>
    total: Generated<number>
    error: string | null
    /** The process that works on it. */
    token: string | null
    /** When another process can take it. */
    free_at_ms: Generated<number>
    created_at: string
    updated_at: string
  }
  instance: {
    database_id: string
    short_url: string | null
    base_url: string | null
    /** Signs the challenges of passkeys. */
    challenge_key: Uint8Array
  }
  accounts: {
    id: Generated<number>
    name: string
    /** JSON: see `accounts/time-zones.ts`. */
    time_zones: Generated<string>
    /** `clicks_30d` includes the days after this cursor, in the order of day, level and id: see `analytics/recent-totals.ts`. */
    recent_day: Generated<number>
    recent_scope: Generated<number>
    recent_id: Generated<number>
    /** When the next day leaves `clicks_30d`. */
    recent_until_ms: Generated<number>
    /** 1 if API keys can sign in to the dashboard, otherwise 0. */
    key_sign_in: Generated<number>
    created_at: string
  }
  keys: {
    id: Generated<number>
    account_id: number
    name: string
    /** The member who created the key, and their name at that time. */
    member_id: number | null
    created_by: string | null
    hash: Uint8Array
    /** The first and last characters of the secret, for recognition. */
    first_characters: string
    last_characters: string
    scopes: string
    created_at: string
    /** The issued lifetime. A rotation only shortens `expires_at`. */
    lifetime_ms: number | null
    expires_at: string | null
    revoked_at: string | null
    /** Accurate to a minute. */
    last_used_at: string | null
  }
  /** People who can sign in, with their own passkeys and their identity at the provider of OpenID Connect. */
  people: {
    id: Generated<number>
    /** The user handle of passkeys: 32 random bytes (WebAuthn §5.4.3). */
    handle: Uint8Array
    /** Issuer and subject identify a person; both are null without OpenID Connect. */
    oidc_issuer: string | null
    oidc_subject: string | null
    /** The IANA name of the time zone of their forms; null until it is known. */
    time_zone: string | null
    created_at: string
  }
  /** People in accounts. */
  members: OwnedRecord & {
    person_id: number
    name: string
    name_folded: string
    /** The email address that OpenID Connect has verified, otherwise the invitation's. */
    email: string | null
    email_folded: string | null
    role: string
    /** 1 if `OIDC_ROLES` sets the role at every sign-in. */
    has_oidc_role: Generated<number>
    /** Accurate to five minutes. */
    last_seen_at: string | null
    /** When the job `departure` removes the member. */
    access_ends_at: string | null
  }
  invitations: OwnedRecord & {
    role: string
    name: string | null
    email: string | null
    /** The hash of the secret in the link. */
    hash: Uint8Array
    /** The member who created the invitation; null for the command line and for API keys. */
    member_id: number | null
    expires_at: string
    /** The `access_ends_at` of the new member. */
    access_ends_at: string | null
  }
  passkeys: {
    id: Generated<number>
    person_id: number
    /** In base64url, as browsers send it. */
    credential_id: string
    /** In COSE format. */
    public_key: Uint8Array
    /** The authenticator's signature counter; 0 if it has none. */
    counter: number
    /** The ways to reach the authenticator, separated by commas, such as `internal,hybrid`. */
    transports: string
    name: string
    created_at: string
    last_used_at: string | null
  }
  /** Tokens that work once: challenges of passkeys, and ids of logout tokens. */
  used_tokens: {
    hash: Uint8Array
    expires_at: string
  }
  login_tokens: {
    hash: Uint8Array
    account_id: number
    /** The member who signs in. */
    member_id: number
    created_at: string
    expires_at: string
  }
  /** A session belongs to a member or to an API key. */
  sessions: {
    id: Generated<number>
    account_id: number
    /** Null if a key started the session. */
    member_id: number | null
    /** Null if a member has signed in. */
    key_id: number | null
    hash: Uint8Array
    /** How the session started: see `sessions/store.ts`. */
    method: string
    /** The id of the session at the provider of OpenID Connect, if it has one. */
    oidc_sid: string | null
    browser: string
    created_at: string
    /** Accurate to five minutes. */
    last_used_at: string
    expires_at: string
  }
  /** Responses to requests with an `Idempotency-Key`. The response is null while its transaction is open. */
  stored_responses: {
    id: Generated<number>
    account_id: number
    key_id: number
    idempotency_key: string
    fingerprint: string
    expires_at: string
    status: number | null
    location: string | null
    etag: string | null
    body: string | null
  }
  /** Requests per key or IP address and process. `ends_at` is in Unix milliseconds. */
  request_counts: {
    subject: string
    ends_at: number
    node: string
    requests: number
  }
  domains: OwnedRecord & {
    name: string
    name_unicode: string
    /** The searched text; null if it is the name. */
    search_text: string | null
    homepage_url: string | null
    not_found_url: string | null
    apple_app_site_association: string | null
    asset_links: string | null
  }
  /** The last check of each domain: see `reachability/store.ts`. */
  domain_checks: {
    domain_id: number
    account_id: number
    checked_at: string
    answer: string
    /** IP addresses that the DNS returned, separated by spaces. */
    addresses: string
    files: Generated<string>
  }
  /** How the QR codes of domains look. `logo` is a PNG. A domain without a row has the plain style. */
  qr_styles: {
    domain_id: number
    account_id: number
    dark: string
    background: string
    margin: number
    logo: Uint8Array | null
  }
  spaces: OwnedRecord & { name: string; name_folded: string; color: number }
  /** The record of another database that a space was imported from. */
  space_origins: {
    space_id: number
    account_id: number
    source: string
    source_id: number
  }
  tags: OwnedRecord & {
    name: string
    name_folded: string
    color: number
    /** For a tag in account 0, the tag that its links move to. */
    merged_into: number | null
  }
  /** The account is the link's. */
  link_tags: { account_id: number; tag_id: number; link_id: number }
  /** The number of links of each tag, which triggers keep. PostgreSQL stores it in several parts. */
  tag_links: { tag_id: number; part: number; total: number }
  links: OwnedRecord & {
    domain_id: number
    space_id: number | null
    alias: string
    /** The folded alias. For an exact address, the alias follows: see `addressKey`. */
    alias_folded: string
    exact: Generated<number>
    legacy: Generated<number>
    url: string
    /** See `foldUrl`. Null if it is the URL itself. */
    url_folded: string | null
    title: string | null
    /** Null if the title is its own folded form. */
    title_folded: string | null
    disabled: number
    active_period_start_at: string | null
    active_period_end_at: string | null
    clicks_limit: number | null
    expiration_url: string | null
    /** An argon2id hash in PHC form. */
    redirect_password: string | null
    forward_query: number
    redirect_status: number
    /** JSON: see `rules/rule.ts`. Null for none. */
    rules: string | null
    notes: string | null
    archived: number
    /** For filters. Current until `status_due_at`. */
    status: string
    status_due_at: string | null
  }
  /** The addresses of links. A link has one main address. */
  addresses: {
    id: Generated<number>
    account_id: number
    link_id: number
    domain_id: number
    alias: string
    alias_folded: string
    exact: number
    legacy: number
    /** 1 for the main address, of which the link has a copy, otherwise 0. */
    main: number
    /** Human clicks. The main address also has the clicks of deleted addresses, which its row lacks. */
    clicks: Generated<number>
    created_at: string
  }
  /** Click totals by link. Triggers create and delete the rows. */
  link_clicks: {
    link_id: number
    account_id: number
    domain_id: number
    space_id: number | null
    clicks: Generated<number>
    bots: Generated<number>
    previews: Generated<number>
    clicks_30d: Generated<number>
    last_clicked_ms: number | null
    /** When the clicks were last deleted. */
    forgotten_ms: number | null
    /** The time of the last click, or 0. */
    clicked_ms: GeneratedAlways<number>
  }
  /** Human clicks by domain and by space in the last 30 days. Triggers create and delete the rows. */
  domain_clicks: RecentClicks
  space_clicks: RecentClicks
  /** Daily aggregates of links, domains, spaces and accounts: see `analytics/day.ts`. */
  click_days: {
    /** 0 link, 1 domain, 2 space, 3 account. */
    scope: number
    day: number
    id: number
    /** For a link, the domain and the space whose aggregates contain its clicks. */
    domain_id: number | null
    space_id: number | null
    /** The sums of the hours. */
    clicks: Generated<number>
    unique_clicks: Generated<number>
    bots: Generated<number>
    previews: Generated<number>
    hours: string
    breakdowns: string
  }
  /** Visitors of each day, as hashes with the salt of the day. Days start at different times in different zones. */
  click_visitors: { day_start_ms: number; link_id: number; visitor: number }
  click_salts: {
    day_start_ms: number
    /** Empty before it is deleted. */
    salt: Uint8Array
  }
  /** The last batch that each process has written. */
  click_batches: { writer: string; batch: number; day: number }
  /** Links whose clicks must follow them to another domain or space. */
  click_moves: { link_id: number }
  /** Deleted records whose days must be deleted. */
  click_removals: { scope: number; id: number }
  /** The log of changes of records: see `events/store.ts`. `changes` and `kept` are JSON. */
  events: {
    id: Generated<number>
    account_id: number
    batch_id: string
    record: string
    action: string
    record_id: number
    /** For a link, its host name and its alias after a slash. */
    record_name: string
    actor_kind: string
    actor_id: number | null
    actor_name: string
    request_id: string | null
    /** Null if the record was deleted permanently. */
    changes: string | null
    /** Private data for the reversal of the event. Null after 30 days. */
    kept: string | null
    /** The event that reversed this one. */
    undone_by: number | null
    /** 1 for the first event of each batch. */
    opens_batch: number | null
    created_at: string
  }
  /** Committed changes that the redirect server has to notice. */
  changes: { seq: Generated<number>; resource: string; record_id: number }
}
