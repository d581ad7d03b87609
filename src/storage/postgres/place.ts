/** The host and the name of the database; never the password. */
export function placeOfPostgres(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host || 'localhost'}${pathname}`
}
