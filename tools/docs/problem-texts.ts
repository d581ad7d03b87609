/** What the documents and the pages `/problems/{code}` say about errors. */
import type { ErrorCode } from '../../src/errors.ts'
import { program } from '../../src/version.ts'
import type { ViolationCode } from '../../src/violations.ts'

/** The cause of each error, and the solution. */
export const explanations: Readonly<Record<ErrorCode, string>> = {
  malformed_url:
    'The URL has invalid percent-encoding, or is not UTF-8. Encode each value, for example with encodeURIComponent, and write "%" as "%25".',
  malformed_body:
    'The body does not match its Content-Type: it has invalid percent-encoding, bytes that are not UTF-8, invalid JSON, JSON that is not an object, an open quote in CSV, or more than 100 fields. Nothing was stored.',
  malformed_request:
    'The request is not valid HTTP: its request line or a header is malformed, Host is missing, or Content-Length does not match the body. If-Match, If-None-Match and Idempotency-Key must be well-formed too. Nothing was changed.',
  missing_api_key: `The request has no API key. Send the header "Authorization: Bearer wm_…". Create a key in the dashboard or with "${program} keys create". The first start prints one, too.`,
  invalid_api_key: `This instance does not know the API key. Check that you copied all of it: "wm_" and 49 letters and digits. Otherwise create a new key with "${program} keys create".`,
  expired_api_key: `The API key has expired. Create a new key with "${program} keys create" or "${program} keys rotate".`,
  revoked_api_key: `The API key was revoked and will not work again. Create a new key with "${program} keys create".`,
  insufficient_scope:
    'The API key is valid, but lacks the scope for this operation. The response names the scope. Use a key with this scope.',
  not_found: 'The account has no such record: the id is unknown, malformed or deleted, or belongs to another account.',
  route_not_found: 'No operation has this path. /docs lists all operations.',
  method_not_allowed: 'The path exists, but not with this method. The Allow header lists the supported methods.',
  request_timeout:
    'The request did not arrive in time. Headers must be complete within 10 seconds, and the body within 30.',
  body_too_large:
    'The body is too large. The API accepts up to 64 KiB, bulk requests up to 1 MiB, forms of the dashboard up to 160 KiB, and sign-in forms and link passwords up to 4 KiB.',
  url_too_long:
    'The URL is longer than 8 KiB. If the URL and the headers together exceed 40 KiB, the code is headers_too_large.',
  unsupported_media_type:
    'Send the body as application/x-www-form-urlencoded or application/json, in UTF-8 and without a Content-Encoding. Bulk requests have their own media types, which the response lists.',
  headers_too_large:
    'The request headers exceed 32 KiB, or 40 KiB together with the URL, or there are more than 1,000 headers.',
  name_taken:
    'The name is already in use. Domain names are case-insensitive and unique in an instance. Choose another name, or delete the domain that has it. If you cannot find that domain, it belongs to another account.',
  alias_taken:
    'Another link on the domain has this alias. Aliases are case-insensitive. Choose another alias, or omit it to get a generated one.',
  domain_in_use:
    'The domain has links, so it was not deleted. Delete the links first, or send the request again with "?links=delete" to delete the domain together with all of its links.',
  link_expired: 'The link’s period has ended, or its click limit is reached.',
  password_required: 'The link requires a password. Send the password by POST in the form field "redirect_password".',
  cross_site:
    'Only pages of the dashboard can send this request, but its Sec-Fetch-Site or Origin header names another site.',
  not_undoable:
    'The change can’t be undone: the record has been changed since, a record that the change needs is gone, or it is more than 30 days old. The message names the reason. Nothing was changed.',
  import_blocked:
    'Other links have addresses of the import, and its option “conflict” is “refuse”. Nothing was stored. Plan the import again with conflict=skip, rename or update.',
  import_running:
    'An import of the account is being applied, proved or undone. Wait for the number of seconds in Retry-After, or poll that import until its state changes.',
  import_state:
    'The import is not in a state that allows the request: only plans can be applied, only applied imports can be proved, only running proofs can be stopped, and applied imports can be undone for 30 days.',
  import_edited:
    'A link of the import was edited or got another address after the import, so an undo would lose that change. Nothing was deleted. Undo that change first, or delete links of the import by hand.',
  import_interrupted:
    'The import could not finish: its process stood still for too long, or rows of the plan are gone. What is stored stays, and no row is stored twice. Send the request again, or undo the import.',
  last_owner:
    'An account always has an owner. The member is its only one, so they can’t be removed or get another role. Make another member an owner first. Nothing was changed.',
  already_member: 'The person is already a member of the account, so they can’t join it again. Nothing was changed.',
  reference_conflict:
    'Other records refer to this record, so it cannot be deleted, or the request refers to a record that has just been deleted. Nothing was changed.',
  idempotency_in_progress:
    'The first request with this Idempotency-Key is still running. Repeat the request after the number of seconds in Retry-After to get the response of the first. It will not run twice.',
  precondition_failed:
    'The record has changed since you read it, so its version does not match If-Match or If-None-Match. This request changed nothing. Fetch the record again, and retry with its current ETag.',
  validation_failed:
    'Some fields of the request are invalid. "violations" lists all of them, each with a code and a sentence. Nothing was changed.',
  bulk_rejected:
    'With "?atomic=true", a bulk request is applied completely or not at all, and some of its rows are invalid. "violations" names each with its index, and "data" has the result of each row. Nothing was changed.',
  idempotency_key_reused:
    'Within the last 24 hours, the same API key sent a different request with this Idempotency-Key: with another path or other fields. Nothing was changed. Send a new key with each new request, and the same key only to repeat one.',
  rate_limited:
    'There were too many requests in this minute. Wait for the number of seconds in Retry-After. The RateLimit headers of every response show the remaining requests.',
  internal_error:
    'The server failed. Send the request_id of the response to the operator, who can find the details in the log.',
  overloaded:
    'The server has too much work, and rejected this request before starting it. Try again after the number of seconds in Retry-After.',
  shutting_down: 'The server is stopping, and did not start this request. Try again.',
  database_unavailable:
    'The database is unavailable or read-only. Try again shortly. Nothing was stored, unless the connection to the database broke during the commit. Check before you repeat a write.',
}

/** Every violation code and what it means; the API's documents are made from this table. */
export const violationCodes = {
  required: 'The field is required and must have a value.',
  not_a_string: 'The value must be a JSON string.',
  not_single: 'The field was sent twice or as an array. Send one value.',
  control_characters: 'The value contains control characters or malformed Unicode.',
  too_long: 'The value is longer than the field allows.',
  out_of_range: 'The value is not an integer within the allowed range.',
  not_allowed: 'The field or parameter does not allow this value.',
  unknown_field: 'The operation has no such field or parameter.',
  prohibited: 'The field cannot be changed.',
  taken: 'The value is already in use.',
  reserved: 'The alias is reserved on every domain.',
  empty_segment: 'The alias has an empty segment: it starts or ends with a slash, or has two slashes in a row.',
  dot_segment: 'A segment of the alias is "." or "..", which browsers resolve before they send it.',
  loops: 'The link would redirect to itself.',
  unknown_domain: 'The account has no such domain.',
  unknown_address: 'The link has no such further address.',
  unknown_space: 'The account has no such space.',
  unknown_link: 'The account has no such link.',
  unknown_format: 'The file has none of the formats that can be imported.',
  ambiguous_format: 'The file has the columns of two formats. Name the source.',
  unknown_tag: 'The account has no such tag, and the key may not create tags.',
  too_many: 'The list has more values than the field allows.',
  not_an_object: 'The value must be a JSON object.',
  not_a_list: 'The value must be a JSON array.',
  malformed_json: 'The text is not valid JSON at the line and the column in the message.',
  malformed_row: 'The row is not a JSON object, or has more cells than the first row.',
  not_a_boolean: 'The value must be true or false.',
  invalid_time: 'The value is neither an RFC 3339 time nor "YYYY-MM-DD HH:MM" in UTC.',
  not_after_start: 'The end of the period is not after its start.',
  invalid_date: 'The value is not a calendar date from 1970 on, such as "2026-11-22".',
  before_from: 'The range ends before it starts.',
  range_too_long: 'The range has more days than a request allows.',
  in_use: 'Other records refer to the record, or it refers to a deleted record.',
  last_owner: 'The member is the account’s only owner.',
  already_member: 'The person is already a member of the account.',
  not_undoable: 'The change can’t be undone, for the reason in the message.',
  import_conflict: 'The import can’t be changed now, for the reason in the message.',
  key_reused: 'The Idempotency-Key was used for a different request.',
  in_progress: 'The first request with the Idempotency-Key is still running.',
  has_scheme: 'A host name has no scheme: leave out "https://".',
  has_port: 'A host name has no port.',
  has_path: 'A host name has no path, query or fragment.',
  has_credentials: 'The value contains a user name or password.',
  has_wildcard: 'Wildcards are not supported.',
  has_underscore: 'Host names have no underscores.',
  has_space: 'The value contains white space.',
  has_backslash: 'The value contains a backslash.',
  ip_address: 'The value must be a host name, not an IP address.',
  empty_label: 'The name has an empty label: it starts with a dot, or has two dots in a row.',
  label_too_long: 'A label is longer than 63 characters.',
  hyphen_at_edge: 'A label starts or ends with a hyphen.',
  invalid_character: 'The value contains a character that the field does not allow.',
  invalid_punycode: 'An "xn--" label is not valid Punycode.',
  lookalike_character: 'The host name contains a character that looks like punctuation, such as / . : or #.',
  mixed_scripts: 'A label mixes scripts, such as Latin and Cyrillic.',
  invisible_character: 'The value contains an invisible character.',
  bidi_control: 'The URL contains a character that changes the text direction.',
  not_in_future: 'The time has passed.',
  numeric_last_label: 'The last label has only digits.',
  public_suffix: 'The name is a public suffix, under which anyone may register.',
  not_absolute: 'The URL must be absolute.',
  unsupported_scheme: 'The field does not allow the scheme of the URL.',
  doubled_scheme: 'The URL has its scheme twice, as in "https://https://acme.com".',
  scheme_alone: 'The URL has nothing after its scheme.',
  host_missing: 'The URL has no host.',
  invalid_url: 'The value is not a valid URL.',
} as const satisfies Readonly<Record<ViolationCode, string>>
