import { maxFields } from '../../http/form-encoding.ts'
import { maxTargetBytes } from '../../http/request-head.ts'
import { maxBody } from '../body.ts'
import { apiPrefix } from '../operations.ts'

const kib = (bytes: number) => `${bytes / 1024} KiB`

/** The description of the document, which applies to all operations. */
export const guide = `
Waymark keeps short links, their domains and the spaces that you sort them into. Send an API key and a form, and get JSON:

\`\`\`sh
curl -H "Authorization: Bearer $KEY" -d name=go.acme.com https://links.example.com${apiPrefix}/domains
curl -H "Authorization: Bearer $KEY" -d url=https://acme.com/summer -d alias=summer https://links.example.com${apiPrefix}/links
\`\`\`

## Requests

Send bodies as \`application/x-www-form-urlencoded\` or \`application/json\`, in UTF-8, up to ${kib(maxBody)} and ${maxFields} fields.
Text is trimmed. An **empty string means no value**: \`homepage_url=\` clears the field. A field that you **do not send** keeps its
value. Write integers plainly: \`3\`, not \`03\` or \`3.0\`; in JSON they may be numbers. An unknown field, or one sent twice, is refused.
Fields that the server sets, such as \`id\`, are ignored, so you may send a record back as you got it. A URL may have ${kib(maxTargetBytes)}.

## Answers

A record comes as \`{"data": {…}}\`; a list has \`links\` and \`meta\` beside its \`data\`. Times are RFC 3339 in UTC. \`X-Request-Id\` names
the request in the log. New versions only add to ${apiPrefix}, so ignore what you do not know.

**HEAD** works wherever GET does. **OPTIONS** answers 204 and lists the methods of the path in \`Allow\`; any other method is 405. Neither
OPTIONS nor a 405 needs a key.

## Lists

Use \`page\` for people who browse a list, and \`after\` for programs that read all of it: \`after=ID\` goes on after the
record with that id, in the order of ids, so no record comes twice or is missed while others write. Take the first id from the last
record of a page without it. \`links.next\` keeps using the one that you began with. A list has an **ETag** of its content: with
\`If-None-Match\` the answer is 304 while nothing has changed.

## Errors

Every failure is the same kind of object. Programs switch on \`code\`, whose meaning never changes; people read \`detail\`; \`type\` leads
to a page that says what to do. On 422 and 409, \`violations\` lists **all** bad fields at once, each with a code and a sentence, and
\`errors\` groups the sentences by field. The media type is \`application/problem+json\`, unless \`Accept\` names \`application/json\` alone.

When several things are wrong, you get the first of these: malformed request or URL (400), path (404) and method (405), key (401),
rate (429), scope (403), media type (415), size (413) and syntax (400) of the body, syntax of If-Match, If-None-Match and
Idempotency-Key (400), record (404), its state (412), fields (422), conflict (409).

## Lost updates

Every record has an **ETag**, which changes whenever the record does. That of a link also changes with its clicks; \`If-Match\` holds as long
as nothing that you can edit has changed. Send it in \`If-Match\` with PUT, PATCH or DELETE: if the record has
changed since, the answer is 412 with the current ETag, and nothing happens. Send it in \`If-None-Match\` with GET: while nothing has
changed, the answer is 304 without a body.

## Safe retries

When a POST gets no answer, you cannot know whether it was done. Give each POST an \`Idempotency-Key\` of its own, and repeat the request
as often as you like: for 24 hours the record is stored once, and every repetition gets the first answer, with
\`Idempotency-Replayed: true\`. Another request under the same key is 422. While the first still runs, the answer may be 409 with
\`Retry-After\`. Only successes are kept: after a failure nothing was stored, and you may use the key again. Each API key has
Idempotency-Keys of its own.

## Browsers and compression

Pages of other origins may use the API if the operator lists their origin in \`CORS_ORIGINS\`. JSON over 1 KiB is compressed if
\`Accept-Encoding\` allows \`gzip\`; the ETag then ends in \`-gzip\`, and is as good as the plain one in conditions.

## Code generators

\`/openapi.json\` describes request bodies as forms and as JSON, with every accepted spelling: a boolean may be \`true\`, \`1\`
or \`"1"\`. openapi-typescript and most other generators read it with their default options. Some generators, such as orval,
can't handle two media types in one body. Give those \`/openapi.json?bodies=json\`. It describes the same operations, but with
JSON bodies only, and each field with its native JSON type.

## Rate limits

Each API key has a number of requests a minute, and each client address a number of failed authentications. \`RateLimit-Policy\` gives
the limit, \`RateLimit\` and \`X-RateLimit-*\` what is left. Past the limit the answer is 429, and \`Retry-After\` gives the seconds to wait.
An operator can turn the limits off; then these headers are absent.
`.trim()
