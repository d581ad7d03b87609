/** What the programs send and print. `URL` and `KEY` name the server and an API key. */
export const { URL: baseUrl = '', KEY = '' } = process.env
export const headers = { authorization: `Bearer ${KEY}` }

const urls = [1, 2].map((weight) => ({ url: `https://acme.com/${weight}`, weight }))
const rules = [{ name: 'Germany', countries: ['DE'], query: { ref: null, utm_source: 'news' }, urls }]
export const link = { url: 'https://acme.com/summer', alias: 'summer', clicks_limit: 5, rules, tags: ['Summer'] }
const none: string[] = []
export const change = {
  ...({ title: 'Sale', disabled: true, redirect_status: 301, clicks_limit: null } as const),
  ...{ rules: null, tags: none },
}
export const invalid = { url: 'acme.com' }
export const links = [{ url: 'https://acme.com' }]
export const homepage = { homepage_url: 'https://acme.com' }

/** Prints the status and body of each answer as one JSON object. */
export function print<Answer>(
  answers: Readonly<Record<string, Answer>>,
  read: (answer: Answer) => { readonly status: number; readonly body: unknown },
): void {
  const printed = Object.entries(answers).map(([name, answer]) => [name, read(answer)])
  process.stdout.write(JSON.stringify(Object.fromEntries(printed)))
}
