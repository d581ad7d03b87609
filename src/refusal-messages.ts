/** The catalog of messages about invalid fields, in three wordings: for the API, for forms and for commands. */

const notListed = '{label} must be one of the listed options.'
const notTogether = '{label} cannot be combined with the other values.'
const unknownEntry = 'The form has an entry that Waymark does not know. Open the form again and try again.'

/**
 * The messages by violation code; a code with several messages has several keys, with a word after the code. The sentence
 * for the API has the name of the {field}, and the sentence for a form its {label} in quotes. A single sentence is for both. A
 * third one is for commands, where {field} is an option. Otherwise, they print the sentence for the API.
 */
export const messages = {
  'has_scheme.host': 'Leave out the scheme ("https://"): write {hint}.',
  'has_port.host': 'Leave out the port: write {hint}.',
  'has_path.host': 'Leave out the path, query and fragment: write {hint}.',
  'has_credentials.host': 'Leave out the user name and password: write {hint}.',
  'has_wildcard.host': 'Wildcards are not supported: write {hint}.',
  'has_underscore.host': 'Host names have no underscores, only hyphens: write {hint}.',
  'has_space.host': 'Leave out the white space: write {hint}.',
  'has_backslash.host': 'Leave out the backslash: write {hint}.',
  'ip_address.host': 'An IP address is not a host name: write {hint}.',
  'empty_label.host': 'Put one dot between labels and none at the start: write {hint}.',
  'label_too_long.host': 'A label, the text between two dots, has at most 63 characters (in Punycode): write {hint}.',
  'too_long.host': 'A host name has at most 253 characters (in Punycode): write {hint}.',
  'hyphen_at_edge.host': 'A label, the text between two dots, cannot begin or end with a hyphen: write {hint}.',
  'invalid_character.host': 'A host name has only letters, digits, hyphens and dots: write {hint}.',
  'invalid_punycode.host': 'A label that begins with "xn--" must be valid Punycode: write {hint}.',
  'numeric_last_label.host': 'The text after the last dot cannot be a number: write {hint}.',
  'lookalike_character.host':
    'Leave out characters that look like a slash, a dot, a colon or other punctuation: write {hint}.',
  'invisible_character.host': 'Leave out blank characters: write {hint}.',
  'mixed_scripts.host': 'Write each label, the text between two dots, in the letters of one script: write {hint}.',
  'public_suffix.host':
    'Anyone may register names under this suffix, so put a name of yours in front of it: write {hint}.',
  'control_characters.url': 'Leave out control characters and broken Unicode: write {hint}.',
  'has_space.url': 'Leave out white space, or encode it as %20: write {hint}.',
  'has_backslash.url': 'Use slashes, not backslashes: write {hint}.',
  'not_absolute.url': [
    'The URL must be absolute, with a scheme, two slashes and a host: write {hint}.',
    '{label} must be a complete URL: write {hint}.',
  ],
  'unsupported_scheme.url': 'Only http:// and https:// are supported.',
  'unsupported_scheme.destination': 'Only the schemes {schemes} are supported.',
  'doubled_scheme.url': 'Write the scheme only once: write {hint}.',
  'scheme_alone.url': 'The URL must have an address or a number after its scheme: write {hint}.',
  'has_credentials.url': 'Leave out the user name and password: write {hint}.',
  'host_missing.url': 'The URL must have a host after its two slashes: write {hint}.',
  'invalid_url.url': 'The host or the port is not valid: write {hint}.',
  'bidi_control.url': 'Leave out characters that change the direction of text, or percent-encode them: write {hint}.',
  'invisible_character.url': 'Leave out characters that do not show, or percent-encode them: write {hint}.',
  required: ['The {field} field is required.', 'Fill in {label}.'],
  'required.choice': ['The {field} field is required. It must be one of {options}.', 'Choose an option for {label}.'],
  'required.any_domain': [
    'The account has no domain yet. Store one first: POST /api/v1/domains with its name.',
    'Add a domain first.',
    'The account has no domain yet. Create one with "{program} domains create NAME".',
  ],
  'required.any_scope': 'The key needs at least one scope.',
  'required.link': [
    'The {field} field is required, because name={name} shows the clicks of one link.',
    'Choose a link.',
    'The {field} option is required, because {name} shows the clicks of one link.',
  ],
  'required.new_space': 'Choose a space or domain to move the links to.',
  'required.tag_change': 'Name tags to add or to remove.',
  'required.limit_change': 'Enter a value, or check a box.',
  not_a_string: ['The {field} field must be a string.', '{label} must be text.'],
  not_single: ['The {field} field must be sent once, as a single value.', '{label} must have a single value.'],
  'not_single.list': [
    'The {field} field must be sent once, with commas between its values.',
    '{label} must have commas between its values.',
  ],
  control_characters: [
    'The {field} field must not contain control characters or malformed Unicode.',
    '{label} must not contain line breaks, tabs or other control characters.',
  ],
  too_long: ['The {field} must be at most {most} characters long.', '{label} must be at most {most} characters long.'],
  'too_long.url': [
    'A URL has at most {most} characters: write {hint}.',
    '{label} must be at most {most} characters long.',
  ],
  'too_long.json': [
    'The {field} field must be at most {most} bytes of JSON.',
    '{label} must be shorter: they take at most {most} bytes.',
  ],
  'too_long.encoded':
    'A URL has at most {most} characters in percent-encoding, but this one has {length}. Write a shorter URL.',
  'too_long.file': [
    'The {field} field must have at most {most} KiB in UTF-8.',
    '{label} must have at most {most} KiB.',
  ],
  out_of_range: [
    'The {field} must be an integer from {least} to {most}.',
    '{label} must be a whole number from {least} to {most}.',
  ],
  'out_of_range.option': ['The {field} must be an integer from {least} to {most}.', notListed],
  'out_of_range.id': ['The {field} must be an integer of 1 or more.', notListed],
  'out_of_range.size': [
    'The size must be at least {least} for this short URL, so that each module has a pixel.',
    'The image must be at least {least} pixels wide for this short link.',
  ],
  not_allowed: ['The {field} must be {options}.', notListed],
  'not_allowed.text': ['The {field} must be {options}.', '{label} must be {options}.'],
  'not_allowed.value': [
    'The {field} must not contain {value}. Each value must be {options}.',
    '{label} has no option “{value}”. Choose one that the list suggests.',
  ],
  'not_allowed.page': ['The after parameter cannot be sent together with page: leave out one of them.', notTogether],
  'not_allowed.order': [
    'The after parameter follows the order of ids: leave out sort_by, or send sort_by=id.',
    notTogether,
  ],
  'not_allowed.reference': ['The {field} cannot be sent together with {others}: send one of them.', notTogether],
  'not_allowed.statistic': [
    'The {field} cannot be combined with name={name}. Leave it out, or send name=clicks.',
    notTogether,
    'The {field} cannot be combined with {name}. Leave it out, or leave out the statistic.',
  ],
  'not_allowed.series': [
    'The {field} cannot be combined with name=clicks. Leave it out, or send another name.',
    notTogether,
    'The {field} cannot be combined with clicks over time. Leave it out, or choose another statistic.',
  ],
  'not_allowed.level': [
    'The level {level} cannot hold this short URL, which is {length} characters long. Send level={highest}.',
    'The short link is too long for this error correction level.',
  ],
  /** For keys and sign-in links, which only a page takes. */
  'not_allowed.secret': '{reason}',
  'not_allowed.passkey': 'The passkey couldn’t be verified. Try again within 5 minutes.',
  /** For a confirmation, which only a page asks for. */
  'not_allowed.task': 'Choose “Something else”, or uncheck the scopes that are no part of the task.',
  'not_allowed.confirmation': 'Type {name} to confirm.',
  /** For the QR codes of a domain. */
  'not_allowed.color': 'Enter a color such as #0b5c6b.',
  'not_allowed.inverted':
    'Scanners expect a dark code on a light background. Choose a darker code color, or swap the two colors.',
  'not_allowed.pale':
    'Scanners need a contrast of at least 4:1, and these colors have {ratio}:1. Choose a darker code color or a lighter background.',
  'not_allowed.dim': 'The background is too dark for scanners. Choose a lighter one.',
  'not_allowed.file': '{reason}',
  /** For a control with several values. */
  'not_allowed.part': '{reason}',
  'not_allowed.removed': 'Leave this empty, or don’t remove the value.',
  'not_allowed.json': [
    'The {field} field must have {shape} at line {line}, column {column}.',
    '{label} must have {shape} at line {line}, column {column}.',
  ],
  unknown_field: ['The {field} field is unknown. {wayOut}', unknownEntry],
  'unknown_field.unnamed': ['A field without a name is unknown. {wayOut}', unknownEntry],
  prohibited: [
    'The {field} field cannot be changed: it stays {current}. Store another {record} instead.',
    '{label} cannot be changed: it stays {current}. Create another {record} instead.',
  ],
  'prohibited.member': [
    'The {field} field cannot be changed: it stays {current}. Only the role and the end of the access can be changed.',
    '{label} cannot be changed: it stays {current}.',
  ],
  'taken.name': [
    'The name {name} has already been taken. Choose another name.',
    'The domain {name} has already been added. Enter another host name.',
  ],
  'taken.tag': [
    'The name {name} has already been taken. Choose another name.',
    'There is already a tag {name}. Choose another name.',
  ],
  'taken.alias': 'The alias {alias} has already been taken on this domain. Choose another alias.',
  'taken.rule': 'The name {name} has already been taken by a rule or variant above. Choose another name.',
  'in_use.domain': [
    'The domain has {links}. Delete {them} first, or send ?links=delete to delete the domain with {them}.',
    'The domain has {links}. Delete {them} first.',
    'The domain has {links}. Delete {them} first, or add --links delete to delete the domain with {them}.',
  ],
  not_undoable: '{reason}',
  'not_undoable.changed': [
    'The field {field} of the {record} has been changed again since.',
    '{label} of the {record} has been changed again since.',
  ],
  import_conflict: '{reason}',
  'import_conflict.ended': [
    'The process that planned the import has ended. Send the file again, with a new Idempotency-Key.',
    'The server stopped while it read the file. Choose the file again.',
    'The process that planned the import has ended. Plan the file again.',
  ],
  'import_conflict.rows': [
    '{rows} of other links. Plan the import again with conflict=skip, rename or update.',
    '{rows} of other links. Choose what happens to them, then update the plan.',
    '{rows} of other links. Plan the import again with --conflict skip, rename or update.',
  ],
  last_owner: 'This is the account’s only owner. Make another member an owner first.',
  already_member: 'This person is already a member of the account.',
  'in_use.record':
    'Other records refer to this record, or it refers to a record that was just deleted. Reload both and try again.',
  key_reused: [
    'This Idempotency-Key was already used for a different request. Send a new key with each new request.',
    'This form was already sent with other values. Open it again.',
  ],
  in_progress: [
    'The first request with this Idempotency-Key is still running. Repeat the request in a second to get its response.',
    'This form is being saved. Wait a second.',
  ],
  'reserved.plus': 'The alias must not end in "+": that shows visitors where a link leads.',
  'reserved.alias': 'The alias {alias} is reserved. Choose another alias.',
  empty_segment: 'The alias must not begin or end with a slash, nor have two in a row: write {hint}.',
  dot_segment: 'The alias must not have "." or ".." between slashes: write {hint}.',
  'invisible_character.alias': 'The alias must not have characters that do not show: write {hint}.',
  'invalid_character.alias':
    'The alias must be made of letters, digits, emoji, hyphens, underscores, dots, tildes, and slashes between them: write {hint}.',
  'invalid_character.exponent':
    'A spreadsheet has changed the number to {alias}. Format its column as text, and enter the alias again.',
  loops: ["The url leads to the link's own short URL, {shortUrl}.", '{label} must not be this short link itself.'],
  'loops.address': 'The link redirects to {shortUrl}, which would be its own address.',
  unknown_domain: ['There is no domain with the id {id}.', 'This domain does not exist. Choose another domain.'],
  'unknown_domain.name': [
    'The account has no domain {name}. Add the domain first.',
    'There is no domain {name}. Add it first.',
  ],
  unknown_address: ['The link has no further address with the id {id}.', 'This address does not exist.'],
  unknown_space: ['There is no space with the id {id}.', 'This space does not exist. Choose another space.'],
  unknown_format: [
    'The file matches no known format. It has: {seen}. Choose another {field}, or send source=csv with columns.',
    'The file matches no known format. It has: {seen}. Export it again, or choose where it is from.',
    'The file matches no known format. It has: {seen}. Choose another --source, or --source csv with --column.',
  ],
  'unknown_format.alias_column': [
    'No column has the short link or its alias, so printed links would not work. The columns are: {seen}. Name the one with the alias, such as columns=Name=alias, or send generate_aliases=true for new aliases.',
    'No column has the short link or its alias, so printed links would not work. Choose the column with the alias, or let Waymark generate new aliases.',
    'No column has the short link or its alias, so printed links would not work. The columns are: {seen}. Name the one with the alias, such as --column Name=alias, or add --generate-aliases for new aliases.',
  ],
  'unknown_format.destination_column': [
    'No column has the destination. The columns are: {seen}. Name it, such as columns=Name=url.',
    'No column has the destination. Choose it among: {seen}.',
    'No column has the destination. The columns are: {seen}. Name it, such as --column Name=url.',
  ],
  'unknown_format.copy': [
    'The dump has COPY statements. Create it with pg_dump --column-inserts, which writes INSERT statements.',
    'The dump has COPY statements. Create it with the option --column-inserts, which writes INSERT statements.',
  ],
  'unknown_format.names':
    'The INSERT statements do not name their columns. Create the dump with CREATE TABLE statements or with column names.',
  ambiguous_format: [
    'The file matches two formats: {formats}. Send {field} with one of them.',
    'The file can be from {formats}. Choose where it is from.',
    'The file matches two formats: {formats}. Choose one with --source.',
  ],
  'not_allowed.column': [
    'The {field} names {name}, but the columns of the file are: {seen}.',
    'The file has no column {name}. It has: {seen}.',
  ],
  'not_allowed.column_field': 'The column {name} cannot be {value}. It can be {options}, or - to leave it out.',
  'not_allowed.column_twice': 'Only one column can be {value}. Leave the others out with -.',
  'not_allowed.column_private': 'The column {name} is never read, because it has data of visitors.',
  'not_allowed.time_zone': 'The time zone must be an IANA name such as Europe/Vienna, or an offset such as +02:00.',
  'required.time_zone': [
    'The file has times without an offset, such as {time}. Send {field}, such as Europe/Vienna or +02:00.',
    'The file has times without a time zone, such as {time}. Choose the zone of the service that wrote them.',
  ],
  'required.companion': ['The {field} field is required together with {other}.', 'It is needed together with {other}.'],
  'required.rows': 'The file has no rows with links.',
  unknown_link: ['There is no link with the id {id}.', 'This link does not exist. Choose another link.'],
  unknown_tag: ['There is no tag with the id {id}.', 'This tag does not exist. Choose another tag.'],
  'unknown_tag.name': [
    'There is no tag {name}, and the key lacks the scope tags:write to create it.',
    'There is no tag {name}.',
  ],
  too_many: ['The {field} field takes at most {most} values.', '{label} takes at most {most} values.'],
  'too_many.passkeys': 'You already have {most} passkeys. Remove one first.',
  'too_many.addresses': 'A link has at most {most} further addresses. Delete one first.',
  'too_many.invitations': 'The account has {most} open invitations. Delete one first.',
  not_a_list: ['The {field} field must be a JSON array.', '{label} must be a list.'],
  not_an_object: ['The {field} field must be a JSON object.', '{label} must be an object.'],
  malformed_json: [
    'The {field} field is not valid JSON at line {line}, column {column}: {problem}. Put names and texts in double quotes, and leave out commas before closing brackets.',
    '{label} can’t be read at line {line}, column {column}: {problem}. Put names and texts in double quotes, and leave out commas before closing brackets.',
  ],
  'malformed_row.cells':
    'The row has {cells} cells, but the first row has {names}. Put cells with commas in double quotes.',
  'malformed_row.lines':
    'The row has {cells} cells, but the first row has {names}. Cell {cell} has several lines: check where its quote is closed.',
  'malformed_row.json': ['The row must be a JSON object with the fields of a link.', 'The row is not a link.'],
  'not_allowed.with_rules': [
    'The {field} cannot be {status} while the link has rules, because browsers remember that redirect. Send 302 or 307.',
    '{label} cannot be permanent while the link has rules, because browsers remember the destination. Choose a temporary one.',
  ],
  'not_allowed.with_tags': ['The {field} field cannot be combined with add_tags or remove_tags.', notTogether],
  'invalid_character.comma': [
    'The {field} must not contain a comma, which separates tags.',
    '{label} must not contain a comma, which separates tags.',
  ],
  'not_allowed.itself': ['A tag cannot be merged into itself. Send the id of another tag.', 'Choose another tag.'],
  not_a_boolean: ['The {field} must be true or false.', '{label} must be on or off.'],
  invalid_time: [
    'The {field} must be a time such as 2026-11-20T12:00:00Z, or 2026-11-20 12:00 in UTC.',
    '{label} must be a date and a time, such as 2026-11-20 12:00.',
  ],
  not_in_future: ['The {field} must be in the future.', '{label} must be in the future.'],
  not_after_start: ['The {field} must be after the {start}.', '{label} must be after “{startLabel}”.'],
  invalid_date: [
    'The {field} date must be in the calendar, such as 2026-11-22, from 1970-01-01 on.',
    '{label} must be a date from 1970 on, such as 2026-11-22.',
  ],
  before_from: ['The to date must not be before the from date.', '{label} must not be before the first day.'],
  range_too_long: [
    'The range may have at most {most} days. Send an earlier to, and ask for the rest in another request.',
    'Choose at most {most} days.',
    'The range may have at most {most} days. Choose an earlier --to.',
  ],
  'range_too_long.by_hour': [
    'The range may have at most {most} days by hour. Send an earlier to, or another interval.',
    'Choose at most {most} days.',
    'The range may have at most {most} days by hour. Choose an earlier --to, or another --interval.',
  ],
} as const satisfies Readonly<Record<string, string | readonly [forApi: string, forForm: string, forCommand?: string]>>
