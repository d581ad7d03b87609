import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { commandsWith, newPlace } from '../../test/command-line.ts'
import { newDatabase, newFolder, runNpm, startProgram } from '../../test/processes.ts'
import { commandArguments } from '../../test/waymark.ts'
import { scopes } from '../access/actor.ts'
import { isWellFormedKey } from '../keys/key.ts'
import { version } from '../version.ts'
import { commands } from './run.ts'

const { run, say, json, fails } = commandsWith({})

test('npm run -s waymark prints only the output of the command', async (t) => {
  const { variables } = newDatabase(t)
  const { code, stdout, stderr } = await runNpm(
    t,
    'run -s waymark -- accounts create --name Acme'.split(' '),
    variables,
  ).ended
  assert.deepEqual([code, stdout, stderr], [0, '1\n', ''])
})

test('creates, lists, rotates and revokes keys', async (t) => {
  const { run, say, json, fails } = await newPlace(t)
  const secret = await say('keys create --name ci')
  assert.ok(isWellFormedKey(secret))
  const [first] = await json('keys list')
  assert.deepEqual(
    [first.id, first.account_id, first.name, first.scopes, first.expires_at, first.revoked_at, first.status],
    [1, 1, 'ci', ['*'], null, null, 'active'],
  )
  assert.ok(secret.startsWith(first.first_characters) && secret.endsWith(first.last_characters))

  const rotated = await say('keys rotate 1')
  assert.ok(isWellFormedKey(rotated) && rotated !== secret)
  const [old, next] = await json('keys list --account 1')
  const overlapMs = Date.parse(old.expires_at) - Date.parse(next.created_at)
  assert.ok(Math.abs(overlapMs - 86_400_000) < 5_000, 'the old key stays valid for a day')

  assert.equal(await say('keys revoke 2'), 'Key 2 (ci) is revoked.')
  const table = (await say('keys list')).split('\n').map((line) => line.split(/ {2,}/))
  assert.deepEqual(
    table.map(([id, account, name, , status]) => [id, account, name, status]),
    [
      ['ID', 'ACCOUNT', 'NAME', 'STATUS'],
      ['1', '1', 'ci', 'active'],
      ['2', '1', 'ci', 'revoked'],
    ],
  )
  await fails('keys rotate 2', 1, /revoked or has expired\.$/)
  for (const line of ['keys create --account 1', 'accounts create']) {
    const { code, stderr } = await run(`${line} --name CafÃ©`)
    assert.deepEqual(
      [code, stderr],
      [0, '"CafÃ©" looks like UTF-8 that was read as Windows-1252. It probably means "Café".\n'],
    )
  }
})

test('creates and lists accounts in UTC and in another time zone', async (t) => {
  const { say, json, fails } = commandsWith(newDatabase(t).variables)
  assert.equal(await say("accounts create --name ' Acme '"), '1')
  const account = await json('accounts create --name Other --time-zone asia/kolkata')
  assert.deepEqual([account.id, account.name, account.time_zone], [2, 'Other', 'Asia/Kolkata'])
  const [first, second] = await json('accounts list')
  assert.deepEqual([first.name, second], ['Acme', account])
  assert.equal(
    await say('accounts list'),
    [
      'ID  NAME   TIME ZONE     CREATED',
      `1   Acme   UTC           ${first.created_at}`,
      `2   Other  Asia/Kolkata  ${account.created_at}`,
    ].join('\n'),
  )
  const zone = '--time-zone takes the IANA name of a time zone, such as Europe/Berlin.'
  await fails('accounts create --name Third --time-zone +02:00', 2, zone)
})

test('--json prints the whole record, and the secret of a new key', async (t) => {
  const { say, json } = await newPlace(t)
  const key = await json("keys create --name ci --scopes 'spaces:read, domains:read,spaces:read' --expires 30s")
  assert.deepEqual([key.name, key.scopes], ['ci', ['spaces:read', 'domains:read']])
  assert.ok(Math.abs(Date.parse(key.expires_at) - Date.parse(key.created_at) - 30_000) < 5_000)
  assert.ok(isWellFormedKey(key.secret))
  const rotated = await json('keys rotate 1 --overlap 0s')
  assert.ok(isWellFormedKey(rotated.secret) && rotated.id === 2)
  const revoked = await json('keys revoke 2')
  assert.deepEqual([revoked.id, revoked.status], [2, 'revoked'])
  const statuses = (await json('keys list')).map(({ status }: { status: string }) => status)
  assert.deepEqual(statuses, ['expired', 'revoked'])
  assert.match(await say('keys list'), /^1 .* expired .*\n2 .* revoked /m)
})

test('accepts a key by name unless several keys have it, and returns 1 for an unknown key or account', async (t) => {
  const { say, fails } = await newPlace(t)
  for (const name of ['ci', 'my phone']) await say(`keys create --name '${name}'`)
  assert.equal(await say("keys revoke 'my phone'"), 'Key 2 (my phone) is revoked.')
  await say('keys rotate ci --overlap 1h')
  await fails('keys revoke ci', 2, 'Several keys are named ci. Use an ID instead: 1, 3.')
  await say('keys revoke 1')
  // An active key takes precedence. Without one, the name is ambiguous again.
  assert.equal(await say('keys revoke ci'), 'Key 3 (ci) is revoked.')
  await fails('keys revoke ci', 2, /^Several keys are named ci\. /)
  const noAccount = 'Account 3 doesn\'t exist. To see all accounts, run "npx waymark accounts list".'
  await fails('keys list --account 3', 1, noAccount)
  await fails('keys create --name ci --account 3', 1, noAccount)
  await fails('keys rotate 7', 1, 'Key 7 doesn\'t exist. To see all keys, run "npx waymark keys list".')
  for (const name of ['42', '1']) await say(`keys create --name ${name}`)
  assert.equal(await say('keys revoke 42'), 'Key 4 (42) is revoked.')
  assert.equal(await say('keys revoke 1'), 'Key 1 (ci) is revoked.', 'an ID comes before a name')
  await fails('keys revoke unknown', 1, 'No key has that name. To see all keys, run "npx waymark keys list".')
})

test('only "accounts create" creates a database', async (t) => {
  const { path, variables } = newDatabase(t)
  const { say, fails } = commandsWith(variables)
  const message = `There is no Waymark database at ${path}. Check DATABASE_URL, or create the database with "npx waymark migrate".`
  for (const line of ['keys create --name ci', 'keys list', 'keys revoke 1', 'links list', 'login-link']) {
    await fails(line, 1, message)
    assert.equal(existsSync(dirname(path)), false)
  }
  assert.equal(await say('accounts create --name Acme'), '1')
})

test('returns 0 if the reader closes the pipe', async (t) => {
  const { variables } = newDatabase(t)
  const child = spawn(process.execPath, [...commandArguments, '--help'], {
    env: { ...process.env, ...variables },
    cwd: newFolder(t),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child.stdout.destroy()
  assert.deepEqual(await once(child, 'close'), [0, null])
})

test('prints help for every command and group in every spelling', async () => {
  const listed = (await say('help')).matchAll(/^ {2}npx waymark (.+?) {2,}\S/gm)
  const commands = Array.from(listed, ([, words = '']) => words)
  assert.ok(commands.length > 35 && commands.includes('tags merge'), String(commands.length))
  const groups = commands.map((words) => words.replace(/ .*/, '')).filter((word) => !commands.includes(word))
  const usages = [...commands, ...['', ...new Set(groups)].map((word) => `${word} COMMAND`)]
  for (const usage of usages) {
    const words = usage.replace(/ ?COMMAND/, '')
    for (const line of [`${words} --help`, `${words} -h`, `help ${words}`, `help ${words} --help`]) {
      const help = await say(line)
      assert.ok(help.includes(`Usage: npx waymark ${usage.trim()}`), help)
      assert.ok(
        help.split('\n').every((line) => line.length <= 132),
        help,
      )
    }
  }
  assert.match(await say('keys help'), /^Usage: npx waymark keys COMMAND$/m)
})

test('help lists scopes, JSON fields and exit codes', async () => {
  const help = await say('help keys create')
  assert.ok(help.replaceAll(/\s+/g, ' ').includes(` ${scopes.join(', ')} `))
  assert.ok(help.split('\n').every((line) => line.length <= 120))
  assert.match(await say('help import'), /"missing"/)
  const codes = /^Exit codes: 0 success; 1 failure or partial success; 2 invalid command line, /m
  assert.match(await say('help'), codes)
})

test('prints the version for version, --version and -v', async () => {
  for (const word of ['version', '--version', '-v']) assert.equal(await say(word), version)
  assert.deepEqual(await json('version'), { version })
})

test('returns 2 and points to the help for an unknown command', async () => {
  for (const [line, message] of Object.entries({
    frob: 'Unknown command "frob".',
    key: 'Unknown command "key". Did you mean "keys"?',
    hepl: 'Unknown command "hepl". Did you mean "help"?',
    'help keys creat': 'Unknown command "creat". Did you mean "create"?',
    'toString x': 'Unknown command "toString".',
    '--frob': 'Unknown option "--frob".',
  })) {
    const stderr = `${message}\nRun "npx waymark help" to see all commands.\n`
    assert.deepEqual(await run(line), { code: 2, stdout: '', stderr })
  }
})

test('only these commands use the database directly, and not the API', () => {
  const others = Object.entries(commands).filter(([, { usesApi }]) => !usesApi)
  assert.deepEqual(
    others.map(([name]) => name),
    [
      'start',
      ...['accounts create', 'accounts list', 'keys create', 'keys list', 'keys rotate', 'keys revoke'],
      'members forget',
      ...['move plan', 'move proof'],
      ...[
        'login-link',
        'oidc check',
        'migrate',
        'backup',
        'restore',
        'export',
        'export clicks',
        'import',
        'completion',
      ],
    ],
  )
})

const nameRule = '--name must have 1 to 255 characters, and no control characters.'
const accountRule = /^--account must be an account ID, /
const limitRule = '--limit must be a number from 1 to 1000.'

test('returns 2 with a message and the usage for invalid arguments', async () => {
  for (const [line, message] of [
    ['', 'No command given.'],
    ['start now', 'Unexpected argument "now".'],
    ['keys create mine', 'Unexpected argument "mine". Put the name after --name.'],
    ['keys create mine --name ci', 'Unexpected argument "mine".'],
    ['keys revoke 1 wm_secret', 'Too many arguments.'],
    ['keys list --acount 1', 'Unknown option "--acount". Did you mean "--account"?'],
    ['keys create -n ci', 'Unknown option "-n".'],
    ['accounts create', '--name is required.'],
    ['accounts create --name', '--name needs a value.'],
    ['keys list --account 1 --account 2', '--account is given more than once.'],
    ['accounts create --name --json', '--name needs a value. If the value starts with a hyphen, write --name=VALUE.'],
    ['accounts create --name Acme --json=1', '--json takes no value.'],
    ["accounts create --name '  '", '--name is required.'],
    ["accounts create --name 'a\tb'", nameRule],
    ['accounts create --name \ud800', nameRule],
    [`accounts create --name ${'😀'.repeat(256)}`, nameRule],
    [
      'keys create --name ci --scopes spaces:raed',
      /^Unknown scope "spaces:raed"\. --scopes must be one or more of domains:read, /,
    ],
    ['keys create --name ci --expires 1y', /^--expires must be a duration such as 30s, 15m, 24h or 90d/],
    ['keys create --name ci --expires 0d', /^--expires must be longer than 0/],
    ['keys create --name ci --account Acme', accountRule],
    ['keys create --name ci --account 9007199254740993', accountRule],
    ['keys rotate', 'KEY is required.'],
    ['keys rotate 1 --overlap soon', /^--overlap must be a duration such as 30s/],
    [
      'keys revoke wm_secret',
      'KEY must be the ID or name of a key, not the key itself. To see all keys, run "npx waymark keys list".',
    ],
    ['completion', 'bash|zsh|fish is required.'],
    ['completion sh', 'bash|zsh|fish must be bash, zsh, or fish.'],
    ['links create', 'URL is required.'],
    ['links show', 'ALIAS is required.'],
    ["links delete ' '", 'ALIAS is required.'],
    ['links list sale', 'Unexpected argument "sale".'],
    ['links update sale', 'Nothing to change. Add an option for each field that should change.'],
    ['links update sale --domain go.acme.com', /^Nothing to change\. /],
    ['domains create', 'NAME is required.'],
    ['domains update go.acme.com --name a.com', 'Unknown option "--name".'],
    ['tags update Sale', /^Nothing to change\. /],
    ['tags merge Sale', '--into is required.'],
    ['spaces delete', 'SPACE is required.'],
    ['links list --limit 0', limitRule],
    ['links list --limit 1001', limitRule],
    ['links list --limit all', limitRule],
    ['export clicks --from 2026-11-02 --to 2026-11-01', "--from can't be later than --to."],
    ['export clicks --format xml', '--format must be jsonl or csv.'],
    ['export clicks --from yesterday', '--from must be a date such as 2026-11-20.'],
    ['export clicks --to 2026-02-30', '--to must be a date such as 2026-11-20.'],
  ] as const) {
    await fails(line, 2, message)
  }
})

test('returns 1 if stdout cannot be written', async (t) => {
  if (process.platform !== 'linux') return
  const { variables } = newDatabase(t)
  await commandsWith(variables).say('accounts create --name Acme')
  for (const command of ['export', 'keys create --name lost --account 1']) {
    const line = [process.execPath, ...commandArguments].map((word) => `'${word}'`).join(' ')
    const { code, stderr } = await startProgram(t, ['sh', '-c', `exec ${line} ${command} > /dev/full`], variables).ended
    assert.equal(code, 1, command)
    assert.match(stderr, /^Can't write to standard output: ENOSPC[^\n]*\n$/)
  }
})
