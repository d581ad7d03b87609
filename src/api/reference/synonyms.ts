/** Words that the filter finds, by the words in the titles of operations and guide sections. */
const synonyms: Readonly<Record<string, string>> = {
  store: 'create add new insert make shorten',
  update: 'edit modify change set rename',
  delete: 'remove erase destroy reset forget undo',
  list: 'find search browse all index',
  show: 'get read fetch view retrieve',
  check: 'status ping monitor',
  link: 'short url alias redirect destination',
  links: 'short urls aliases redirects pagination',
  lists: 'pagination paging cursor search sort',
  domain: 'host hostname dns',
  space: 'folder group tag category',
  statistics: 'stats analytics reports clicks visits visitors traffic',
  clicks: 'stats statistics analytics visits',
  qr: 'barcode image picture png svg',
  key: 'login sign in authentication token scopes permissions whoami me quota',
  authentication: 'login sign in token api key bearer password oauth scopes permissions',
  rate: 'quota throttling too many requests 429',
  errors: 'problems failures exceptions status codes validation',
  values: 'types integer boolean null empty optional nullable dates',
  updates: 'etag concurrency conflict optimistic locking version',
  retries: 'idempotency idempotent duplicate repeat timeout',
  browsers: 'cors javascript gzip',
  generators: 'sdk client openapi swagger',
}

/** Returns the synonyms of all words in the title. */
export function synonymsOf(title: string): string {
  return [...new Set(title.toLowerCase().match(/\w+/g))].flatMap((word) => synonyms[word] ?? []).join(' ')
}
