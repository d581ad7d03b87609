import { longestTarget } from '../arrival.ts'
import { largestBody } from '../body.ts'
import { mostFields } from '../form-encoding.ts'
import { apiPrefix } from '../operation.ts'

const kib = (bytes: number) => `${bytes / 1024} KiB`

/** The document's description: what holds for every operation, for people. */
export const guide = `
Waymark keeps the domains and spaces of your short links. Send an API key and a form, get JSON:

\`\`\`sh
curl -H "Authorization: Bearer $KEY" -d name=go.acme.com -d homepage_url=https://acme.com \\
  https://links.example.com${apiPrefix}/domains
\`\`\`

## Requests

Bodies are \`application/x-www-form-urlencoded\` or \`application/json\`, in UTF-8, up to ${kib(largestBody)} and ${mostFields} fields.
Strings are trimmed. An **empty string is no value**: \`homepage_url=\` clears the field, \`search=\` is no search. A field that is
**not sent** stays as it is. Whole numbers are written plainly: \`3\`, not \`03\` or \`3.0\`; JSON may have them as numbers.
A field that is not known, or is sent twice, is refused rather than ignored. URLs may have ${kib(longestTarget)}.

## Answers

A record comes as \`{"data": {…}}\`, a list with \`links\` and \`meta\` beside its \`data\`. Times are RFC 3339 in UTC. Every answer names
its request in \`X-Request-Id\`. Under ${apiPrefix} things are only ever added, so ignore what you do not know.

**HEAD** is answered wherever GET is. **OPTIONS** is 204, with the methods of the path in \`Allow\`; any other method is 405. Neither
OPTIONS nor a 405 needs a key.

## Errors

Every failure, on every path, is one object: \`code\` is for programs and never changes its meaning, \`detail\` is for people, and
\`type\` leads to a page that says what to do. For 422 and 409, \`violations\` lists **all** bad fields at once, each with a code and a
sentence, and \`errors\` has the sentences by field. The media type is \`application/problem+json\`, unless \`Accept\` names
\`application/json\` and not the former.

When several things are wrong, the first of these answers: malformed request or URL (400), path (404) and method (405), key (401),
rate (429), scope (403), media type (415), size (413) and syntax (400) of the body, record (404), fields (422), conflict (409).

## Rate limits

Each key may make so many requests a minute, and each client address so many failed authentications; \`RateLimit-Policy\` says how
many, \`RateLimit\` and \`X-RateLimit-*\` what is left. Past that, the answer is 429, and \`Retry-After\` says how many seconds to wait.
An operator can turn the limits off; these headers are then absent.
`.trim()
