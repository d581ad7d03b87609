import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newPlace, typed } from '../../test/command-line.ts'
import { addClicks, dayOf, manyPeople } from '../../test/days.ts'
import { fillLinks } from '../../test/links.ts'
import { query } from '../storage/schema.ts'

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`creates, lists, updates and deletes domains, spaces and tags on ${engine}`, async (t) => {
    const { run, say, json, fails } = await newPlace(t, engine)
    assert.equal(await say('domains create Bücher.example --homepage-url https://acme.com'), '1')
    assert.equal(
      await say('domains list'),
      [
        'ID  NAME                   NAME UNICODE    HOMEPAGE URL      NOT FOUND URL',
        '1   xn--bcher-kva.example  bücher.example  https://acme.com  -',
      ].join('\n'),
    )
    const domain = await json('domains update bücher.example --homepage-url=')
    assert.deepEqual([domain.id, domain.homepage_url], [1, null])
    await fails('domains update 1 --asset-links {}', 2, /--asset-links.* array of statements.* at line 1, column 1/)
    assert.equal((await json('domains update 1 --asset-links []')).asset_links, '[]')
    assert.equal((await json('domains update 1 --asset-links=')).asset_links, null)

    assert.equal((await json('spaces create Summer --color 3')).color, 3)
    assert.equal(await say('spaces update summer --name Autumn'), 'The space Autumn was updated.')
    for (const [n, name] of ['Sale', 'Print', '2026'].entries())
      assert.equal(await say(`tags create ${name}`), `${n + 1}`)
    await say('links create https://acme.com --alias a --tag Sale --tag Print --space Autumn')
    await say('links create https://acme.com --alias b --tag Sale')
    assert.equal(
      await say('tags list --sort-by name --sort asc'),
      'ID  NAME   COLOR  LINKS\n3   2026   1      0\n2   Print  1      1\n1   Sale   1      2',
    )
    assert.equal((await json('tags list --limit 1 --search a')).length, 1)
    assert.equal((await run('tags list --limit 2')).stderr, 'Showing 2 of 3 tags. Raise --limit, or add a filter.\n')

    assert.equal(await say('tags merge Sale --into 2 --yes'), 'The tag Sale was merged into Print.')
    assert.deepEqual((await json('links show b')).tags, ['Print'])
    assert.equal(await say('tags delete 2026 --yes'), 'The tag 2026 was deleted.')
    assert.equal(await say('spaces delete Autumn --yes'), 'The space Autumn was deleted.')
    assert.equal((await json('links show a')).space_id, null)

    const used = 'The domain xn--bcher-kva.example has 2 links. To delete them too, add "--links delete".'
    await fails('domains delete 1 --yes', 1, used)
    assert.equal(await say('domains delete 1 --links delete --yes'), 'The domain xn--bcher-kva.example was deleted.')
    assert.equal(await say('links list --json'), '[]')
  })
}

test('asks before it deletes or merges, with the number of links', async (t) => {
  const { run, say, fails } = await newPlace(t)
  await say('domains create go.acme.com')
  for (const name of ['Sale', 'Print']) await say(`spaces create ${name}`)
  await say('links create https://acme.com --tag Sale --space Sale')
  await say('tags create Print')
  for (const [line, question, result] of [
    ['tags delete Sale', 'Delete the tag Sale? Its 1 link will stay, without the tag.', 'Nothing deleted.'],
    ['spaces delete Sale', 'Delete the space Sale? Its 1 link will stay, without a space.', 'Nothing deleted.'],
    ['spaces delete Print', 'Delete the space Print?', 'Nothing deleted.'],
    [
      'domains delete go.acme.com --links delete',
      'Delete the domain go.acme.com? Its 1 link will be deleted, too.',
      'Nothing deleted.',
    ],
    [
      'tags merge Sale --into Print',
      'Merge the tag Sale, with 1 link, into Print, and delete Sale?',
      'Nothing changed.',
    ],
  ] as const) {
    const asked = { code: 1, stdout: `${result}\n`, stderr: `${question} [y/N] ` }
    assert.deepEqual(await run(line, typed(['n\n'])), asked)
    await fails(line, 2, `${question}\nCan't ask without a terminal. Add --yes to confirm.`)
  }
  assert.equal((await run('tags delete Sale', typed(['y\n']))).stdout, 'The tag Sale was deleted.\n')
})

test('counts all links of a domain or a tag, and up to 10,000 links of a space', async (t) => {
  const { storage, say, run } = await newPlace(t)
  await say('domains create go.acme.com')
  await say('spaces create Summer')
  await say('tags create Sale')
  for (const first of [1, 5_001]) await fillLinks(storage, { account: 1, domain: 1 }, first, 5_000)
  const asked = async (line: string) => (await run(line, typed(['n\n']))).stderr
  await say('links update l1 --tag Sale')
  assert.match(await asked('domains delete 1 --links delete'), /\? Its 10,000 links will be deleted, too\. /)
  await storage.execute(query.updateTable('links').set({ space_id: 1 }))
  assert.match(await asked('spaces delete Summer'), /\? Its 10,000 links will stay, without a space\. /)
  await say('links create https://acme.com --space Summer')
  assert.match(await asked('spaces delete Summer'), /\? Its more than 10,000 links will stay, without a space\. /)
  assert.match(await asked('tags delete Sale'), /\? Its 1 link will stay/)
})

test('names the argument, the rule and the next step in each error', async (t) => {
  const { say, fails } = await newPlace(t)
  await say('domains create go.acme.com')
  for (const name of ['Sale', 'Print']) await say(`tags create ${name}`)
  for (const color of [1, 2]) await say(`spaces create Twin --color ${color}`)
  const unknown = (label: string, what: string, name: string) =>
    `${label}: The account has no ${what} "${name}". To see all ${what}s, run "npx waymark ${what}s list".`
  for (const [line, code, sentence] of [
    ['domains create https://a.example', 2, 'NAME: Leave out the scheme ("https://"): write a.example.'],
    ['domains create go.acme.com', 1, 'NAME: The name go.acme.com has already been taken. Choose another name.'],
    ['domains update https://a.example --homepage-url x', 2, /^DOMAIN: Leave out the scheme/],
    ['domains update go.acme.com --homepage-url //acme.com', 2, /^--homepage-url: The URL must be absolute, /],
    ['domains delete a.example --yes', 1, unknown('DOMAIN', 'domain', 'a.example')],
    ['domains delete go.acme.com --links keep --yes', 2, '--links: The links must be delete.'],
    ['tags create sale', 1, 'NAME: The name sale has already been taken. Choose another name.'],
    ['tags create a,b', 2, 'NAME: The name must not contain a comma, which separates tags.'],
    ['tags create x --color 7', 2, '--color: The color must be an integer from 1 to 6.'],
    ['tags update Sale --name print', 1, '--name: The name print has already been taken. Choose another name.'],
    ['tags update 9 --name x', 1, unknown('TAG', 'tag', '9')],
    ['tags merge Sale --into 9', 1, unknown('--into', 'tag', '9')],
    ['tags merge Sale --into sale --yes', 1, /^--into: A tag cannot be merged into itself\./],
    ['spaces delete twin --yes', 2, 'SPACE: Several spaces are named twin. Use an ID instead: 1, 2.'],
    ['spaces list --sort-by color', 2, '--sort-by: The --sort-by must be one of id, name, clicks_30d.'],
    ['spaces list --account 2', 1, /^Account 2 doesn't exist\. /],
  ] as const) {
    await fails(line, code, sentence)
  }
})

test('shows clicks for the account, a link, a domain, a space or a tag', async (t) => {
  const { storage, say, json, fails } = await newPlace(t)
  await say('domains create go.acme.com')
  await say('spaces create Summer')
  await say('links create https://acme.com --alias a --space Summer --tag Sale')
  await say('links create https://acme.com --alias 7')
  await addClicks(storage, 1, dayOf('2026-11-02'), manyPeople(2, 'countries', 'DE', 10))
  await addClicks(storage, 2, dayOf('2026-11-03'), manyPeople(3, 'countries', 'FR'))
  const range = '--from 2026-11-02 --to 2026-11-03'
  const total = (clicks: number) => `Total: ${clicks} clicks from 2026-11-02 to 2026-11-03 (UTC).`
  assert.equal(
    await say(`stats ${range}`),
    [
      'DAY         CLICKS  UNIQUE CLICKS  BOTS  PREVIEWS',
      '2026-11-02  2       2              0     0',
      `2026-11-03  3       3              0     0\n\n${total(5)}`,
    ].join('\n'),
  )
  assert.equal(
    await say(`stats links ${range}`),
    `ID  CLICKS  SHORT URL\n2   3       http://go.acme.com:3080/7\n1   2       http://go.acme.com:3080/a\n\n${total(5)}`,
  )
  assert.match(await say('stats countries --to 2026-10-01'), /^VALUE {2}CLICKS\n\nTotal: 0 clicks /)
  for (const [subject, value] of [
    ['--link http://go.acme.com:3080/a', 'DE'],
    ['--link 1', 'DE'],
    ['--link 7', 'FR'],
    ['--space summer', 'DE'],
    ['--tag sale', 'DE'],
    ['--domain go.acme.com', 'FR'],
  ] as const) {
    const { data, meta } = await json(`stats countries ${subject} ${range}`)
    assert.deepEqual([data[0].value, meta.range.from], [value, '2026-11-02'], subject)
  }
  const help = await say('help stats')
  assert.match(help, /this link, by short URL, alias or ID\. Not with --domain, --space\s+or --tag\n/)
  assert.match(help, /Only with clicks\n/)
  for (const [line, code, sentence] of [
    ['stats frob', 2, /^NAME: The name must be one of clicks, countries, /],
    ['stats --link 9', 1, '--link: There is no link with the id 9.'],
    ['stats --link b', 1, /^No link has the alias b\. /],
    ['stats --space 9', 1, /^--space: The account has no space "9"\. /],
    ['stats --link a --space 1', 2, /^--link: The --link cannot be sent together with --space: send one of them\.\n/],
    [
      'stats --page 2',
      2,
      /^--page: The page cannot be combined with clicks over time\. Leave it out, or choose another statistic\./,
    ],
    ['stats --from 2026-11-31', 2, /^--from: The from date must be in the calendar, /],
  ] as const) {
    await fails(line, code, sentence)
  }
  await say('accounts create --name Berlin --time-zone Europe/Berlin')
  const hours = await say('stats --from 2026-11-02 --to 2026-11-02 --interval hour --account 2')
  assert.match(hours, /^HOUR .*\n2026-11-02 00:00 .*\n2026-11-02 01:00 /)
  const months = await say('stats --from 2026-11-02 --to 2026-12-02 --interval month --account 2')
  assert.match(months, /^MONTH .*\n2026-11 .*\n2026-12 /)
})
