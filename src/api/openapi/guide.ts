import { mostFields } from '../../http/form-encoding.ts'
import { maxTargetBytes } from '../../http/target.ts'
import { largestBody } from '../body.ts'
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
A field that is not known, or is sent twice, is refused rather than ignored; those that the server sets, such as \`id\`, are ignored. URLs may have ${kib(maxTargetBytes)}.

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
rate (429), scope (403), media type (415), size (413) and syntax (400) of the body, syntax of If-Match, If-None-Match and
Idempotency-Key (400), record (404), its state (412), fields (422), conflict (409).

## Lost updates

Every record comes with an **ETag**, which is another one after every change. Send it back in \`If-Match\` with PUT, PATCH or DELETE,
and the change is made only while the record is as you saw it; otherwise the answer is 412, with the present ETag, and nothing
has happened. Send it in \`If-None-Match\` with GET, and the answer is 304 without a body while nothing has changed.

## Safe retries

A POST that got no answer may have been done or not. Give each a name of its own in \`Idempotency-Key\`, and send it again as
often as you like: within 24 hours the record is stored once, and later requests get the answer of the first, with
\`Idempotency-Replayed: true\`. The request must be the same, field by field; another one under the same key is 422. While the first
is being worked on, the answer may be 409 with \`Retry-After\`. Only a success is kept: after any other answer nothing was
stored, and the same key may be sent again. Keys belong to the API key that sent them.

## Rate limits

Each key may make so many requests a minute, and each client address so many failed authentications; \`RateLimit-Policy\` says how
many, \`RateLimit\` and \`X-RateLimit-*\` what is left. Past that, the answer is 429, and \`Retry-After\` says how many seconds to wait.
An operator can turn the limits off; these headers are then absent.
`.trim()
