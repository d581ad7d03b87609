import { maxFields } from '../../http/form-encoding.ts'
import { maxTargetBytes } from '../../http/request-head.ts'
import { maxBody } from '../body.ts'
import { apiPrefix } from '../operations.ts'

const kib = (bytes: number) => `${bytes / 1024} KiB`

/** The description of the document, which applies to all operations. Its headings become sections of the reference. */
export const guide = `
## Getting started

Waymark stores short links, their domains, and the spaces that you sort them into. To store a domain and a link, send an API key and
a form. The responses are JSON:

\`\`\`sh
curl -H "Authorization: Bearer $KEY" -d name=go.acme.com https://links.example.com${apiPrefix}/domains
curl -H "Authorization: Bearer $KEY" -d url=https://acme.com/summer -d alias=summer https://links.example.com${apiPrefix}/links
\`\`\`

## Authentication

Every operation of the API needs a key in the header \`Authorization: Bearer wm_…\`. Create keys in the dashboard, under API keys, or with
\`npx waymark keys create\`. A key belongs to one account and has scopes, such as \`links:write\`. A key without the scope of an operation
gets 403. \`GET ${apiPrefix}/me\` shows the scopes of a key.

## Requests

Send bodies as \`application/json\` or \`application/x-www-form-urlencoded\`, in UTF-8, with up to ${kib(maxBody)} and ${maxFields} fields. A URL
may have up to ${kib(maxTargetBytes)}. Fields that you **do not send** keep their values. Unknown and repeated fields are rejected. Fields
that the server assigns, such as \`id\`, are ignored, so you can send a record back unchanged.

## Values

The reference shows the JSON type of each field. These spellings are accepted too:

- **Text** is trimmed.
- **Integers** can be strings of digits in forms, queries and JSON: \`"3"\`, but not \`03\` or \`3.0\`.
- **Booleans** can be \`true\`, \`false\`, \`1\` or \`0\`, as JSON values or as strings.
- **Nullable** fields can have no value. Send \`null\` in JSON, or an empty string in JSON or a form: \`homepage_url=\` clears the field. When
you store a record, a field without a value gets its default. In responses, \`null\` means that the field has no value.
- **Times** in responses are RFC 3339 in UTC. In requests, \`2026-12-31 23:59\` means UTC too.

## Responses

A record is \`{"data": {…}}\`. A list also has \`links\` and \`meta\`. \`X-Request-Id\` identifies the request in the server's log. New versions only
add fields to ${apiPrefix}, so ignore unknown fields.

**HEAD** works wherever GET does. **OPTIONS** returns 204 with the methods of the path in \`Allow\`. Other methods return 405. OPTIONS
requests and 405 responses need no key.

## Lists

Use \`page\` for people who browse a list, and \`after\` for programs that read the whole list. \`after=ID\` returns the records after that id,
in the order of ids, so concurrent changes never repeat or skip a record. Read the first page, request
\`after=\` with the id of its last record, and then follow \`links.next\`. \`links.next\` keeps using the parameter that you started with.

A list has an **ETag** of its content. With \`If-None-Match\`, the response is 304 while nothing has changed.

## Errors

Every failure is the same kind of object. Programs should use \`code\`, whose meaning never changes. \`detail\` explains the error to people,
and \`type\` is a page that says what to do. For 422 and 409, \`violations\` lists **all** invalid fields, each with a code and a sentence, and
\`errors\` groups the sentences by field. The media type is \`application/problem+json\`, unless \`Accept\` names only \`application/json\`.

If a request has several errors, you get the first one in this order: malformed request or URL (400), path (404), method (405), key (401),
rate limit (429), scope (403), media type (415), body size (413), body syntax (400), syntax of If-Match, If-None-Match or
Idempotency-Key (400), record (404), version of the record (412), fields (422), conflict (409).

## Lost updates

Every record has an **ETag**, which changes with the record. Send it in \`If-Match\` with PUT, PATCH or DELETE. If the record has changed
since you read it, the response is 412 with the current ETag, and nothing changes. Send it in \`If-None-Match\` with GET to get 304
without a body while nothing has changed. The ETag of a link also changes with its clicks, but \`If-Match\` ignores clicks.

## Safe retries

If a POST gets no response, you can't know whether it succeeded. Give each POST its own \`Idempotency-Key\`, and repeat the request as often
as you like. For 24 hours, the record is stored only once, and every repetition gets the first response with
\`Idempotency-Replayed: true\`. A different request with the same key gets 422. While the first request is running, the response
may be 409 with \`Retry-After\`. Failures store nothing, so you can use the key again. Each API key has its own Idempotency-Keys.

## Rate limits

Each API key has a limit of requests per minute, and each client IP address a limit of failed authentications. \`RateLimit-Policy\` shows the
limit, and \`RateLimit\` and \`X-RateLimit-*\` show the remaining requests. When the limit is reached, the response is 429, and
\`Retry-After\` is the number of seconds to wait. If an operator turns the limits off, these headers are absent.

## Browsers and compression

Pages of other origins may use the API if the operator lists their origin in \`CORS_ORIGINS\`. JSON over 1 KiB is compressed if
\`Accept-Encoding\` allows \`gzip\`. The ETag then ends in \`-gzip\`, and conditions accept both forms.

## Code generators

\`/openapi.json\` describes request bodies as forms and as JSON, with every accepted spelling. openapi-typescript and most other generators
read it with their default options. Some generators, such as orval, can't handle two media types in one body. Give them
\`/openapi.json?bodies=json\`, which describes the same operations with JSON bodies only, and each field with its JSON type.
`.trim()
