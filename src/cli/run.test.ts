import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runHere } from '../../test/command-line.ts'
import { newDatabase, newFolder, runNpm, startProgram, waymark } from '../../test/processes.ts'
import { commandArguments } from '../../test/scripts.ts'
import { isWellFormedKey } from '../keys/key.ts'
import { scopes } from '../keys/scope.ts'
import { version } from '../version.ts'

/** Runs commands on one fresh database. `say` requires success and returns the output. */
function onFreshDatabase(t: TestContext) {
  const { path, variables } = newDatabase(t)
  const run = (...args: readonly string[]) => runHere(args, { variables })
  const say = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await run(...args)
    assert.deepEqual([code, stderr], [0, ''])
    return stdout.trimEnd()
  }
  return { path, say, run }
}

test('npm run -s waymark prints only the output of the command', async (t) => {
  const { variables } = newDatabase(t)
  const say = (...args: string[]) => runNpm(t, ['run', '-s', 'waymark', '--', ...args], variables).ended
  assert.deepEqual((await say('accounts', 'create', '--name', 'Acme')).stdout, '1\n')
  const created = await say(...'keys create --name ci --scopes domains:read,spaces:read --expires 90d'.split(' '))
  assert.equal(created.code, 0)
  assert.ok(isWellFormedKey(created.stdout.replace(/\n$/, '')))
})

test('creates, lists, rotates and revokes keys', async (t) => {
  const { say, run } = onFreshDatabase(t)
  assert.equal(await say('accounts', 'create', '--name', ' Acme '), '1')
  const secret = await say('keys', 'create', '--name', 'ci')
  assert.ok(isWellFormedKey(secret))
  const [first] = JSON.parse(await say('keys', 'list', '--json'))
  assert.deepEqual(
    [first.id, first.account_id, first.name, first.scopes, first.expires_at, first.revoked_at, first.status],
    [1, 1, 'ci', ['*'], null, null, 'active'],
  )
  assert.ok(secret.startsWith(first.first_characters) && secret.endsWith(first.last_characters))

  const rotated = await say('keys', 'rotate', '1')
  assert.ok(isWellFormedKey(rotated) && rotated !== secret)
  const [old, next] = JSON.parse(await say('keys', 'list', '--account', '1', '--json'))
  const overlapMs = Date.parse(old.expires_at) - Date.parse(next.created_at)
  assert.ok(Math.abs(overlapMs - 86_400_000) < 5_000, 'the old key stays valid for a day')

  assert.equal(await say('keys', 'revoke', '2'), 'Key 2 (ci) is revoked.')
  const table = (await say('keys', 'list')).split('\n').map((line) => line.split(/ {2,}/))
  assert.deepEqual(table[0]?.slice(0, 5), ['ID', 'ACCOUNT', 'NAME', 'KEY', 'STATUS'])
  assert.deepEqual(
    table.slice(1).map(([id, , , , status]) => [id, status]),
    [
      ['1', 'active'],
      ['2', 'revoked'],
    ],
  )
  const dead = await run('keys', 'rotate', '2')
  assert.deepEqual([dead.code, dead.stdout], [1, ''])
  assert.match(dead.stderr, /revoked or has expired\.\n$/)
})

test('creates an account with a time zone', async (t) => {
  const { run, say } = onFreshDatabase(t)
  const zone = ['--time-zone', 'asia/kolkata']
  const other = JSON.parse(await say('accounts', 'create', '--name', 'Acme', ...zone, '--json'))
  assert.equal(other.time_zone, 'Asia/Kolkata')
  const { code, stderr } = await run('accounts', 'create', '--name', 'Other', '--time-zone', '+02:00')
  assert.equal(code, 2)
  assert.match(stderr, /--time-zone takes the IANA name of a time zone, such as Europe\/Berlin\./)
})

test('--json prints the whole record, and the secret of a new key', async (t) => {
  const { say } = onFreshDatabase(t)
  const account = JSON.parse(await say('accounts', 'create', '--name', 'Acme', '--json'))
  assert.deepEqual([account.id, account.name], [1, 'Acme'])
  assert.deepEqual(JSON.parse(await say('accounts', 'list', '--json')), [account])
  assert.equal(
    await say('accounts', 'list'),
    `ID  NAME  TIME ZONE  CREATED\n1   Acme  UTC        ${account.created_at}`,
  )
  const scoped = ['--scopes', 'spaces:read, domains:read,spaces:read', '--expires', '30s', '--json']
  const key = JSON.parse(await say('keys', 'create', '--name', 'ci', ...scoped))
  assert.deepEqual([key.name, key.scopes], ['ci', ['spaces:read', 'domains:read']])
  assert.ok(Math.abs(Date.parse(key.expires_at) - Date.parse(key.created_at) - 30_000) < 5_000)
  assert.ok(isWellFormedKey(key.secret))
  const rotated = JSON.parse(await say('keys', 'rotate', '1', '--overlap', '0s', '--json'))
  assert.ok(isWellFormedKey(rotated.secret) && rotated.id === 2)
  const revoked = JSON.parse(await say('keys', 'revoke', '2', '--json'))
  assert.deepEqual([revoked.id, revoked.status], [2, 'revoked'])
  const statuses = JSON.parse(await say('keys', 'list', '--json')).map(({ status }: { status: string }) => status)
  assert.deepEqual(statuses, ['expired', 'revoked'])
  assert.match(await say('keys', 'list'), /^1 .* expired .*\n2 .* revoked /m)
})

test('returns 1 for an unknown account or key and explains where to look', async (t) => {
  const { say, run } = onFreshDatabase(t)
  await say('accounts', 'create', '--name', 'Acme')
  for (const [words, sentence] of [
    ['keys list --account 3', 'Account 3 doesn\'t exist. To see all accounts, run "npx waymark accounts list".\n'],
    [
      'keys create --name ci --account 3',
      'Account 3 doesn\'t exist. To see all accounts, run "npx waymark accounts list".\n',
    ],
    ['keys rotate 7', 'Key 7 doesn\'t exist. To see all keys, run "npx waymark keys list".\n'],
    ['keys revoke unknown', 'No key has that name. To see all keys, run "npx waymark keys list".\n'],
  ] as const) {
    const { code, stdout, stderr } = await run(...words.split(' '))
    assert.deepEqual([code, stdout, stderr], [1, '', sentence])
  }
})

test('accepts a key by name unless several keys have it', async (t) => {
  const { say, run } = onFreshDatabase(t)
  await say('accounts', 'create', '--name', 'Acme')
  for (const name of ['ci', 'my phone']) await say('keys', 'create', '--name', name)
  assert.equal(await say('keys', 'revoke', 'my phone'), 'Key 2 (my phone) is revoked.')
  await say('keys', 'rotate', 'ci', '--overlap', '1h')
  const both = await run('keys', 'revoke', 'ci')
  assert.deepEqual([both.code, both.stdout], [2, ''])
  assert.match(both.stderr, /^Several keys are named ci\. Use an ID instead: 1, 3\.\n\nUsage: /)
  await say('keys', 'revoke', '1')
  // An active key takes precedence. Without one, the name is ambiguous again.
  assert.equal(await say('keys', 'revoke', 'ci'), 'Key 3 (ci) is revoked.')
  assert.equal((await run('keys', 'revoke', 'ci')).code, 2)
})

test('only "accounts create" creates a database', async (t) => {
  const { path, say, run } = onFreshDatabase(t)
  for (const words of ['keys create --name ci', 'keys list', 'keys revoke 1', 'links list', 'login-link']) {
    const { code, stdout, stderr } = await run(...words.split(' '))
    const sentence = `There is no Waymark database at ${path}. Check DATABASE_URL, or start the server once to create it.\n`
    assert.deepEqual([code, stdout, stderr], [1, '', sentence])
    assert.equal(existsSync(dirname(path)), false)
  }
  assert.equal(await say('accounts', 'create', '--name', 'Acme'), '1')
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

test('prints help for every command in every spelling', async () => {
  const groups = ['', 'keys', 'accounts', 'links', 'domains', 'tags'].map((words) => [words, `${words} COMMAND`])
  const commands = [
    ...['keys create', 'keys list', 'keys rotate', 'keys revoke', 'links create', 'links list', 'links show'],
    ...[
      'links delete',
      'links update',
      'domains create',
      'spaces update',
      'tags merge',
      'accounts create',
      'accounts list',
      'login-link',
      'start',
      'import',
    ],
  ].map((words) => [words, words])
  for (const [words, usage] of [...groups, ...commands] as [string, string][]) {
    for (const line of [`${words} --help`, `${words} -h`, `help ${words}`, `help ${words} --help`]) {
      const { code, stdout, stderr } = await runHere(line.split(' ').filter((word) => word !== ''))
      assert.deepEqual([code, stderr], [0, ''], line)
      assert.ok(stdout.includes(`Usage: npx waymark ${usage.trim()}`), stdout)
      assert.ok(
        stdout.split('\n').every((line) => line.length <= 132),
        stdout,
      )
    }
  }
  assert.match((await runHere(['keys', 'help'])).stdout, /^Usage: npx waymark keys COMMAND$/m)
})

test('help lists scopes, JSON fields and exit codes', async () => {
  const help = (await runHere(['help', 'keys', 'create'])).stdout
  assert.ok(help.replaceAll(/\s+/g, ' ').includes(` ${scopes.join(', ')} `))
  assert.ok(help.split('\n').every((line) => line.length <= 120))
  assert.match((await runHere(['help', 'import'])).stdout, /"missing"/)
  assert.match(
    (await runHere(['help'])).stdout,
    /^Exit codes: 0 success; 1 failure or partial success; 2 invalid command line, /m,
  )
})

test('prints the version for version, --version and -v', async () => {
  for (const word of ['version', '--version', '-v']) {
    const { code, stdout } = await runHere([word])
    assert.deepEqual([code, stdout], [0, `${version}\n`])
  }
})

const unknownCommandUses: [args: string[], sentence: string][] = [
  [['frob'], 'Unknown command "frob".'],
  [['key'], 'Unknown command "key". Did you mean "keys"?'],
  [['hepl'], 'Unknown command "hepl". Did you mean "help"?'],
  [['help', 'keys', 'creat'], 'Unknown command "creat". Did you mean "create"?'],
  [['toString', 'x'], 'Unknown command "toString".'],
  [['--frob'], 'Unknown option "--frob".'],
]
const unknownCommands = new Set(unknownCommandUses.map(([args]) => args))

const wrongUses: [args: string[], sentence: string | RegExp][] = [
  ...unknownCommandUses,
  [[], 'No command given.'],
  [['start', 'now'], 'Unexpected argument "now".'],
  [['keys', 'create', 'mine'], 'Unexpected argument "mine". Put the name after --name.'],
  [['keys', 'create', 'mine', '--name', 'ci'], 'Unexpected argument "mine".'],
  [['keys', 'revoke', '1', 'wm_secret'], 'Too many arguments.'],
  [['keys', 'list', '--acount', '1'], 'Unknown option "--acount". Did you mean "--account"?'],
  [['keys', 'create', '-n', 'ci'], 'Unknown option "-n".'],
  [['accounts', 'create'], '--name is required.'],
  [['accounts', 'create', '--name'], '--name needs a value.'],
  [
    ['accounts', 'create', '--name', '--json'],
    '--name needs a value. If the value starts with a hyphen, write --name=VALUE.',
  ],
  [['accounts', 'create', '--name', 'Acme', '--json=1'], '--json takes no value.'],
  [['accounts', 'create', '--name', '  '], '--name is required.'],
  [['accounts', 'create', '--name', 'a\tb'], '--name must have 1 to 255 characters, and no control characters.'],
  [['accounts', 'create', '--name', '\ud800'], '--name must have 1 to 255 characters, and no control characters.'],
  [['accounts', 'create', '--name', '😀'.repeat(256)], /^--name must have 1 to 255 characters/],
  [
    ['keys', 'create', '--name', 'ci', '--scopes', 'spaces:raed'],
    /^Unknown scope "spaces:raed"\. --scopes must be one or more of domains:read, /,
  ],
  [['keys', 'create', '--name', 'ci', '--expires', '1y'], /^--expires must be a duration such as 30s, 15m, 24h or 90d/],
  [['keys', 'create', '--name', 'ci', '--expires', '0d'], /^--expires must be longer than 0/],
  [['keys', 'create', '--name', 'ci', '--account', 'Acme'], /^--account must be an account ID/],
  [['keys', 'create', '--name', 'ci', '--account', '9007199254740993'], /^--account must be an account ID/],
  [['keys', 'rotate'], 'KEY is required.'],
  [['keys', 'rotate', '1', '--overlap', 'soon'], /^--overlap must be a duration such as 30s/],
  [
    ['keys', 'revoke', 'wm_secret'],
    'KEY must be the ID or name of a key, not the key itself. To see all keys, run "npx waymark keys list".',
  ],
  [['completion'], 'bash|zsh|fish is required.'],
  [['completion', 'sh'], 'bash|zsh|fish must be bash, zsh, or fish.'],
  [['links', 'create'], 'URL is required.'],
  [['links', 'show'], 'ALIAS is required.'],
  [['links', 'delete', ' '], 'ALIAS is required.'],
  [['links', 'list', 'sale'], 'Unexpected argument "sale".'],
  [['links', 'update', 'sale'], 'Nothing to change. Add an option for each field that should change.'],
  [['links', 'update', 'sale', '--domain', 'go.acme.com'], /^Nothing to change\. /],
  [['domains', 'create'], 'NAME is required.'],
  [['domains', 'update', 'go.acme.com', '--name', 'a.com'], 'Unknown option "--name".'],
  [['tags', 'update', 'Sale'], /^Nothing to change\. /],
  [['tags', 'merge', 'Sale'], '--into is required.'],
  [['spaces', 'delete'], 'SPACE is required.'],
  [['links', 'list', '--limit', '0'], '--limit must be a number from 1 to 1000.'],
  [['links', 'list', '--limit', '1001'], '--limit must be a number from 1 to 1000.'],
  [['links', 'list', '--limit', 'all'], '--limit must be a number from 1 to 1000.'],
  [['export', 'clicks', '--from', '2026-11-02', '--to', '2026-11-01'], "--from can't be later than --to."],
]

for (const [args, sentence] of wrongUses) {
  test(`returns 2 for "waymark ${args.join(' ').slice(0, 60)}"`, async () => {
    const { code, stdout: out, stderr: err } = await runHere(args)
    const [message = '', ...advice] = err.split('\n')
    assert.deepEqual([code, out], [2, ''])
    if (typeof sentence === 'string') assert.equal(message, sentence)
    else assert.match(message, sentence)
    if (unknownCommands.has(args)) assert.deepEqual(advice, ['Run "npx waymark help" to see all commands.', ''])
    else assert.match(advice.join('\n'), /^\nUsage: npx waymark /)
  })
}

test('returns 1 if stdout cannot be written', async (t) => {
  if (process.platform !== 'linux') return
  const { variables } = newDatabase(t)
  await waymark(t, ['accounts', 'create', '--name', 'Acme'], variables)
  for (const command of ['keys list', 'export', 'keys create --name lost --account 1']) {
    const line = [process.execPath, ...commandArguments].map((word) => `'${word}'`).join(' ')
    const { code, stderr } = await startProgram(t, ['sh', '-c', `exec ${line} ${command} > /dev/full`], variables).ended
    assert.equal(code, 1, command)
    assert.match(stderr, /^Can't write to standard output: ENOSPC[^\n]*\n$/)
  }
})
