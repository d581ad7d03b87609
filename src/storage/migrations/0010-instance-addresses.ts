/** The addresses of the server that started last, for the command line. Null until a server has started. */
const columns = ['short_url', 'base_url'].map((name) => `alter table instance add column ${name} text`)

export const sqlite = columns
export const postgres = columns
