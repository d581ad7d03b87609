import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable, Writable } from 'node:stream'
import { type TestContext, test as testOf } from 'node:test'
import { type Ended, newDatabase, newFolder, runNpm, startProgram, waymark } from '../test/processes.ts'
import { commandArguments } from '../test/scripts.ts'
import { runCli } from './cli/run.ts'
import { isWellFormedKey } from './keys/key.ts'
import { openStorage } from './storage/open.ts'

const test = (promise: string, work: (t: TestContext) => Promise<void>) => testOf(promise, { timeout: 30_000 }, work)

type Say = (...args: readonly string[]) => Promise<string>

interface FreshDatabase {
  readonly path: string
  readonly say: Say
  refused(...args: readonly string[]): Promise<Ended>
}

/** Runs commands on one fresh database; each must succeed, and its stdout is returned. */
function onFreshDatabase(t: TestContext): FreshDatabase {
  const { path, variables } = newDatabase(t)
  const refused = (...args: readonly string[]) => waymark(t, args, variables)
  const say: Say = async (...args) => {
    const { code, stdout, stderr } = await refused(...args)
    assert.deepEqual([code, stderr], [0, ''])
    return stdout.trimEnd()
  }
  return { path, say, refused }
}

/** Runs in this process what must end before a database is opened. */
async function inProcess(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const out: string[] = []
  const err: string[] = []
  const code = await runCli(args, { input: () => Readable.from([]), out: collecting(out), err: collecting(err) })
  return { code, out: out.join(''), err: err.join('') }
}

function collecting(texts: string[]): Writable {
  return new Writable({
    write(chunk, _, done) {
      texts.push(String(chunk))
      done()
    },
  })
}

test('npm run -s waymark prints what the command prints, and nothing else', async (t) => {
  const { variables } = newDatabase(t)
  const say = (...args: string[]) => runNpm(t, ['run', '-s', 'waymark', '--', ...args], variables).ended
  assert.deepEqual((await say('accounts', 'create', '--name', 'Acme')).stdout, '1\n')
  const created = await say(
    'keys',
    'create',
    '--name',
    'ci',
    '--scopes',
    'domains:read,spaces:read',
    '--expires',
    '90d',
    '--account',
    '1',
  )
  assert.equal(created.code, 0)
  assert.ok(isWellFormedKey(created.stdout.replace(/\n$/, '')))
})

test('a key can be created, listed, rotated and revoked', async (t) => {
  const { say, refused } = onFreshDatabase(t)
  assert.equal(await say('accounts', 'create', '--name', ' Acme '), '1')
  const secret = await say('keys', 'create', '--name', 'ci')
  assert.ok(isWellFormedKey(secret))
  const [first] = JSON.parse(await say('keys', 'list', '--json'))
  assert.deepEqual(
    [first.id, first.account_id, first.name, first.scopes, first.expires_at, first.revoked_at],
    [1, 1, 'ci', ['*'], null, null],
  )
  assert.ok(secret.startsWith(first.first_characters) && secret.endsWith(first.last_characters))

  const rotated = await say('keys', 'rotate', '1')
  assert.ok(isWellFormedKey(rotated) && rotated !== secret)
  const [old, next] = JSON.parse(await say('keys', 'list', '--account', '1', '--json'))
  const overlapMs = Date.parse(old.expires_at) - Date.parse(next.created_at)
  assert.ok(Math.abs(overlapMs - 86_400_000) < 5_000, 'the old key stays good for a day')

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
  const dead = await refused('keys', 'rotate', '2')
  assert.deepEqual([dead.code, dead.stdout], [1, ''])
  assert.match(dead.stderr, /revoked or has expired\.\n$/)
})

test('--json prints the whole record, and the secret where there is a new one', async (t) => {
  const { say } = onFreshDatabase(t)
  const account = JSON.parse(await say('accounts', 'create', '--name', 'Acme', '--json'))
  assert.deepEqual([account.id, account.name], [1, 'Acme'])
  assert.deepEqual(JSON.parse(await say('accounts', 'list', '--json')), [account])
  assert.equal(await say('accounts', 'list'), `ID  NAME  CREATED\n1   Acme  ${account.created_at}`)
  const key = JSON.parse(
    await say(
      'keys',
      'create',
      '--name',
      'ci',
      '--scopes',
      'spaces:read, domains:read,spaces:read',
      '--expires',
      '30s',
      '--json',
    ),
  )
  assert.deepEqual([key.name, key.scopes], ['ci', ['spaces:read', 'domains:read']])
  assert.ok(Math.abs(Date.parse(key.expires_at) - Date.parse(key.created_at) - 30_000) < 5_000)
  assert.ok(isWellFormedKey(key.secret))
  const rotated = JSON.parse(await say('keys', 'rotate', '1', '--overlap', '0s', '--json'))
  assert.ok(isWellFormedKey(rotated.secret) && rotated.id === 2)
  assert.equal(JSON.parse(await say('keys', 'revoke', '2', '--json')).id, 2)
  assert.match(await say('keys', 'list'), /^1 .* expired .*\n2 .* revoked /m)
})

test('whose key it is must be clear', async (t) => {
  const { path, say, refused } = onFreshDatabase(t)
  await (await openStorage({ engine: 'sqlite', path })).close()
  const none = await refused('keys', 'create', '--name', 'ci')
  assert.deepEqual([none.code, none.stdout], [2, ''])
  assert.match(none.stderr, /^There is no account yet\. Make one with .*\n\nUsage: waymark keys create --name/)
  for (const name of ['Acme', 'Other']) await say('accounts', 'create', '--name', name)
  const many = await refused('keys', 'create', '--name', 'ci')
  assert.equal(many.code, 2)
  assert.match(many.stderr, /^There is more than one account: say which one with --account ID\.\n/)
  const unknown = await refused('keys', 'list', '--account', '3')
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /^There is no account 3\.\n/)
})

test('a key that does not exist is a sentence, with exit code 1', async (t) => {
  const { say, refused } = onFreshDatabase(t)
  await say('accounts', 'create', '--name', 'Acme')
  for (const verb of ['rotate', 'revoke']) {
    const { code, stdout, stderr } = await refused('keys', verb, '7')
    assert.deepEqual([code, stdout, stderr], [1, '', 'There is no such key.\n'])
  }
})

test('a database that cannot be used is a sentence, with exit code 1', async (t) => {
  const { code, stderr } = await waymark(t, ['keys', 'list'], { DATABASE_URL: 'mysql://here' })
  assert.equal(code, 1)
  assert.match(stderr, /^DATABASE_URL must name a database file, such as [^\n]+\n$/)
})

test('only "accounts create" makes a database', async (t) => {
  const { path, say, refused } = onFreshDatabase(t)
  for (const words of ['keys create --name ci', 'keys list', 'keys rotate 1', 'keys revoke 1', 'accounts list']) {
    const { code, stdout, stderr } = await refused(...words.split(' '))
    const sentence = `There is no Waymark database at ${path} yet. Check DATABASE_URL, or start the server once.\n`
    assert.deepEqual([code, stdout, stderr], [1, '', sentence])
    assert.equal(existsSync(dirname(path)), false)
  }
  assert.equal(await say('accounts', 'create', '--name', 'Acme'), '1')
})

test('a command waits while another process holds the write lock', async (t) => {
  const { path, variables } = newDatabase(t)
  await waymark(t, ['accounts', 'create', '--name', 'Acme'], variables)
  const holder = new DatabaseSync(path)
  t.after(() => holder.close())
  holder.exec('begin immediate')
  const created = waymark(t, ['keys', 'create', '--name', 'ci'], variables)
  // It reads without the lock; by the time this command has ended, the other one waits for it.
  assert.equal((await waymark(t, ['keys', 'list'], variables)).code, 0)
  holder.exec('commit')
  assert.equal((await created).code, 0)
})

test('a reader that has read enough is no failure', async (t) => {
  const { variables } = newDatabase(t)
  const child = spawn(process.execPath, [...commandArguments, '--help'], {
    env: { ...process.env, ...variables },
    cwd: newFolder(t),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child.stdout.destroy()
  assert.deepEqual(await once(child, 'close'), [0, null])
})

test('--help explains every level, with exit code 0', async () => {
  for (const [args, title] of [
    [[], 'Usage: waymark COMMAND'],
    [['keys'], 'Usage: waymark keys COMMAND'],
    [['accounts'], 'Usage: waymark accounts COMMAND'],
    [['keys', 'create'], 'Usage: waymark keys create --name NAME'],
    [['keys', 'list'], 'Usage: waymark keys list'],
    [['keys', 'rotate'], 'Usage: waymark keys rotate ID'],
    [['keys', 'revoke'], 'Usage: waymark keys revoke ID'],
    [['accounts', 'create'], 'Usage: waymark accounts create --name NAME'],
    [['accounts', 'list'], 'Usage: waymark accounts list'],
  ] as const) {
    for (const option of ['--help', '-h']) {
      const { code, out, err } = await inProcess(...args, option)
      assert.deepEqual([code, err], [0, ''])
      assert.ok(out.includes(title), out)
    }
  }
})

test('--version prints the version', async () => {
  assert.match((await inProcess('--version')).out, /^\d+\.\d+\.\d+\n$/)
})

const wrongUses: [args: string[], sentence: string | RegExp][] = [
  [[], 'Say what is to be done.'],
  [['keys'], 'Say what is to be done.'],
  [['frob'], 'There is no command or option "frob" here.'],
  [['keys', 'frob'], 'There is no command or option "frob" here.'],
  [['toString', 'x'], 'There is no command or option "toString" here.'],
  [['--frob'], 'There is no command or option "--frob" here.'],
  [['accounts', 'list', '--all'], "Unknown option '--all'."],
  [['accounts', 'list', 'all'], 'There are more arguments than the command takes.'],
  [['accounts', 'create'], '--name is missing.'],
  [['accounts', 'create', '--name'], "Option '--name <value>' argument missing."],
  [['accounts', 'create', '--name', '--json'], /^Option '--name' argument is ambiguous\.$/],
  [['accounts', 'create', '--name', 'Acme', '--json=1'], "Option '--json' does not take an argument."],
  [['accounts', 'create', '--name', '  '], '--name is missing.'],
  [['accounts', 'create', '--name', 'a\tb'], '--name takes 1 to 255 characters, none of them a control character.'],
  [['accounts', 'create', '--name', '\ud800'], '--name takes 1 to 255 characters, none of them a control character.'],
  [['accounts', 'create', '--name', '😀'.repeat(256)], /^--name takes 1 to 255 characters/],
  [
    ['keys', 'create', '--name', 'ci', '--scopes', 'spaces:raed'],
    /^There is no scope "spaces:raed"\. --scopes takes domains:read, /,
  ],
  [['keys', 'create', '--name', 'ci', '--scopes', ''], /^There is no scope ""\./],
  [['keys', 'create', '--name', 'ci', '--expires', '1y'], /^--expires takes a duration such as 30s, 15m, 24h or 90d/],
  [['keys', 'create', '--name', 'ci', '--expires', '0d'], /^--expires must be longer than nothing/],
  [['keys', 'create', '--name', 'ci', '--account', 'Acme'], /^--account takes the id of an account/],
  [['keys', 'create', '--name', 'ci', '--account', '9007199254740993'], /^--account takes the id of an account/],
  [['keys', 'rotate'], 'The ID of the key is missing.'],
  [['keys', 'rotate', '1', '--overlap', 'soon'], /^--overlap takes a duration such as 30s/],
  [['keys', 'revoke', '01'], 'ID is the number of a key, as "waymark keys list" shows it.'],
  [['keys', 'revoke', 'wm_secret'], 'ID is the number of a key, as "waymark keys list" shows it.'],
  [['keys', 'revoke', '1', '2'], 'There are more arguments than the command takes.'],
]

for (const [args, sentence] of wrongUses) {
  test(`exit code 2 for "waymark ${args.join(' ').slice(0, 60)}"`, async () => {
    const { code, out, err } = await inProcess(...args)
    const [said = '', empty, usage = ''] = err.split('\n')
    assert.deepEqual([code, out, empty], [2, '', ''])
    if (typeof sentence === 'string') assert.equal(said, sentence)
    else assert.match(said, sentence)
    assert.match(usage, /^Usage: waymark /)
  })
}

test('exit code 1 when stdout cannot be written: the disk may be full', async (t) => {
  if (process.platform !== 'linux') return
  const { variables } = newDatabase(t)
  await waymark(t, ['accounts', 'create', '--name', 'Acme'], variables)
  for (const command of ['keys list', 'export', 'keys create --name lost --account 1']) {
    const line = [process.execPath, ...commandArguments].map((word) => `'${word}'`).join(' ')
    const { code, stderr } = await startProgram(t, ['sh', '-c', `exec ${line} ${command} > /dev/full`], variables).ended
    assert.equal(code, 1, command)
    assert.match(stderr, /^The standard output cannot be written: ENOSPC[^\n]*\n$/)
  }
})
