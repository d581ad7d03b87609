/** `waymark backup` and `waymark restore`, with a real server. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { basename } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { createActor, systemActor } from '../src/access/actor.ts'
import { scopesOfRole } from '../src/access/roles.ts'
import { createAccount } from '../src/accounts/store.ts'
import { removeMember } from '../src/members/changes.ts'
import { createInvitation, findInvitationByToken } from '../src/members/invitations.ts'
import { findSession, insertLoginToken, signInByToken, signInMember } from '../src/sessions/store.ts'
import { openStorage } from '../src/storage/open.ts'
import { backedUp, namesAt, namesIn, newPlace, pagesOf, sentence, spaces, store } from './backups.ts'
import { newMember } from './members.ts'

/** Changes a database like a killed process: only the write-ahead log has the change. */
function leaveLog(path: string, statement: string): void {
  const database = new DatabaseSync(path)
  database.exec(`pragma journal_mode = wal; ${statement}`)
  const [file, log] = [readFileSync(path), readFileSync(`${path}-wal`)]
  database.close()
  writeFileSync(path, file)
  writeFileSync(`${path}-wal`, log)
}

test('a backup of a busy server is complete, contains every acknowledged write, and is private to this user', async (t) => {
  const place = newPlace(t)
  const server = await place.start()
  let isDone = false
  let answered = 0
  const writers = Array.from({ length: 8 }, async () => {
    for (; !isDone; answered++) await store(server, `Space ${answered}`)
  })
  for (let n = 0; n < 3; n++) {
    const before = answered
    assert.match(
      await place.done('backup', place.file(`${n}.db`)),
      /^Backed up the database to \S+ \(\d+\.\d MB\)\.\n$/,
    )
    const kept = namesIn(place.file(`${n}.db`)).length
    assert.ok(kept >= before && kept <= answered + 8, `${before} ≤ ${kept} ≤ ${answered}`)
  }
  isDone = true
  await Promise.all(writers)
  assert.deepEqual(readdirSync(place.file('.')).sort(), ['0.db', '1.db', '2.db', basename(place.folder)])
  assert.equal((await place.say('export', place.file('export.jsonl'))).code, 0)
  const own = ['', '-wal', '-shm'].map((suffix) => place.path + suffix)
  const modes = [...own, place.file('0.db'), place.file('export.jsonl')].map((file) => statSync(file).mode & 0o777)
  assert.deepEqual([...new Set(modes)], [0o600])
})

test('a backup replaces a file only with --force, and leaves no files when it fails', async (t) => {
  const { backup, say, done, file, path } = await backedUp(t, 'One')
  const before = readFileSync(backup)
  assert.match(sentence(await say('backup', backup)), /^The file \S+ already exists\. .*--force\.$/)
  assert.deepEqual(readFileSync(backup), before)
  writeFileSync(backup, 'something else')
  await done('backup', backup, '--force')
  assert.deepEqual(namesIn(backup), ['One'])
  assert.match(sentence(await say('backup', file('no/such/folder.db'))), /^Can't write \S+: /)
  // Past the page of the schema, where only a check of everything looks.
  const bytes = readFileSync(path)
  writeFileSync(path, bytes.fill(0xff, 3 * 4096, bytes.length))
  assert.match(sentence(await say('backup', file('damaged.db'))), /^Can't back up a damaged database: /)
  assert.equal(existsSync(file('damaged.db')), false)
  assert.deepEqual(
    readdirSync(file('.')).filter((name) => name.includes('partial')),
    [],
  )
})

test('restores the database of the backup, and keeps the previous one with its log', async (t) => {
  const { backup, start, done, folder, path, key } = await backedUp(t, 'Kept')
  leaveLog(path, `update spaces set name = 'Too late'`)

  const said = await done('restore', backup)
  const [, replaced = ''] = /The previous database is in (\S+\.replaced-[\dT.-]+Z)\.\n$/.exec(said) ?? []
  assert.deepEqual(readdirSync(folder).sort(), [basename(path), basename(replaced)].sort())
  assert.deepEqual(namesIn(replaced), ['Too late'])

  const server = await start()
  assert.deepEqual(await namesAt(server, key), ['Kept'])
  await store(server, 'After', key)
  const found = await server.send('GET', `${spaces}?search=e`, { key })
  assert.deepEqual(found.body.meta.total, 2)
})

test('restores people with their sessions, sign-in links and invitations, including removed members', async (t) => {
  const place = newPlace(t)
  const opened = () => openStorage({ engine: 'sqlite', path: place.path })
  const before = await opened()
  const { id: account } = await createAccount(before, 'Acme')
  const [, ben] = [await newMember(before, account), await newMember(before, account, { name: 'Ben' })]
  const session = await signInMember(before, ben, { method: 'passkey', browser: 'Firefox' })
  const link = await insertLoginToken(before, ben)
  const actor = createActor({ ...ben, kind: 'member', name: 'Ben', scopes: scopesOfRole('owner') }, null)
  const { secret } = await createInvitation(before, actor, { role: 'viewer', name: null, email: null })
  await place.done('backup', place.file('backup.db'))
  await removeMember(before, systemActor(account), ben.id, { keepsKeys: false, precondition: null })
  await before.close()
  await place.done('restore', place.file('backup.db'))
  const after = await opened()
  t.after(() => after.close())
  assert.equal((await findSession(after, session))?.member?.id, ben.id)
  assert.notEqual(await signInByToken(after, link, 'Firefox'), undefined)
  assert.equal((await findInvitationByToken(after, secret))?.inviter, 'Ben')
})

test('restores a backup where no database exists', async (t) => {
  const { backup } = await backedUp(t, 'Moved')
  chmodSync(backup, 0o444)
  const { done, path } = newPlace(t)
  assert.equal(await done('restore', backup), `Restored the database from ${backup}.\n`)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.deepEqual(namesIn(path), ['Moved'])
})

test('ignores the journal of the previous database', async (t) => {
  const { backup, done, path } = await backedUp(t, 'Kept')
  const database = new DatabaseSync(path)
  database.exec(`pragma journal_mode = delete; update spaces set name = 'Too late'; create table notes (text)`)
  // More than the cache can hold, so that the journal is on the disk when the process is killed.
  database.exec(
    `pragma cache_size = 1; begin; update spaces set name = 'Later'; insert into notes values (zeroblob(1e6))`,
  )
  const journal = readFileSync(`${path}-journal`)
  database.close()
  rmSync(path)
  writeFileSync(`${path}-journal`, journal)
  await done('restore', backup)
  assert.deepEqual(namesIn(path), ['Kept'])
})

test('restores nothing while an idle server has the database open', async (t) => {
  const { backup, start, say, folder, path, key } = await backedUp(t, 'One')
  const server = await start()
  assert.equal(
    sentence(await say('restore', backup)),
    `The database ${path} is in use. Stop the server, and every other process that has the database open.`,
  )
  await store(server, 'Two', key)
  assert.deepEqual(await namesAt(server, key), ['One', 'Two'])
  assert.deepEqual(
    readdirSync(folder).filter((name) => /restoring|replaced/.test(name)),
    [],
  )
})

test('does not restore an invalid backup', async (t) => {
  const { backup, say, file, path, folder } = await backedUp(t, 'One')
  const make = (name: string, text: string) => {
    const database = new DatabaseSync(file(name))
    database.exec(text)
    database.close()
  }
  writeFileSync(file('text.db'), 'Not a database.\n'.repeat(1000))
  make('songs.db', 'create table songs (id)')
  make('empty.db', 'vacuum')
  writeFileSync(file('newer.db'), pagesOf(backup))
  make('newer.db', `insert into kysely_migration values ('9999-later', '2027-01-01T00:00:00.000Z')`)
  writeFileSync(file('development.db'), pagesOf(backup))
  make('development.db', `update kysely_migration set name = '0001-first' where name like '0001-%'`)
  writeFileSync(file('damaged.db'), pagesOf(backup).fill(0xff, 3 * 4096))
  writeFileSync(file('cut.db'), readFileSync(backup))
  truncateSync(file('cut.db'), 5 * 4096)
  writeFileSync(file('schema.db'), pagesOf(backup).fill(0xff, 100, 4096))
  writeFileSync(file('raw.db'), readFileSync(backup))
  writeFileSync(file('raw.db-wal'), 'log')
  mkdirSync(file('folder.db'))
  await say('export', file('export.jsonl'))

  const before = readFileSync(path)
  for (const [name, expected] of [
    ['missing.db', /^The file \S+ doesn't exist\.$/],
    ['folder.db', /^The path \S+ is a folder\. Choose the backup file in it\.$/],
    ['text.db', /^The file \S+ is not a database\.$/],
    ['export.jsonl', /^The file \S+ is an export, not a backup\. Use "npx waymark import" to store its records\.$/],
    ['songs.db', /^The file \S+ is not a Waymark database\.$/],
    ['empty.db', /^The file \S+ is not a Waymark database\.$/],
    ['newer.db', /^The file \S+ was written by a newer version of Waymark\. /],
    [
      'development.db',
      /^The file \S+ was written by a development version of Waymark\. .+ with the commit that wrote it\. /,
    ],
    ['damaged.db', /^The file \S+ is damaged: /],
    ['cut.db', /^The file \S+ is damaged: /],
    ['schema.db', /^The file \S+ is damaged: /],
    ['raw.db', /^Next to the file \S+ is a write-ahead log, /],
  ] as const) {
    assert.match(sentence(await say('restore', file(name))), expected)
  }
  assert.deepEqual(readFileSync(path), before)
  assert.deepEqual(readdirSync(folder), [basename(path)])
})

test('replaces a damaged database, but only with --stopped if it may be in use', async (t) => {
  const { backup, say, done, path } = await backedUp(t, 'One')
  writeFileSync(path, 'Not a database.\n'.repeat(1000))
  await done('restore', backup)
  leaveLog(path, 'drop table spaces')
  writeFileSync(path, 'Not a database.\n'.repeat(1000))
  // Zeros say that there is nothing to roll back.
  writeFileSync(`${path}-journal`, Buffer.alloc(512))
  assert.match(sentence(await say('restore', backup)), /^The database \S+ is damaged .* add --stopped\.$/)
  const [, replaced = ''] = /in (\S+)\.\n$/.exec(await done('restore', backup, '--stopped')) ?? []
  assert.match(readFileSync(replaced, 'utf8'), /^Not a database/)
  for (const log of ['-wal', '-journal']) assert.ok(existsSync(replaced + log))
  assert.deepEqual(namesIn(path), ['One'])
})

test('does not replace the database of another program', async (t) => {
  const { backup, path, say } = await backedUp(t, 'One')
  const database = new DatabaseSync(path)
  database.exec('drop table instance')
  database.close()
  const before = readFileSync(path)
  assert.match(sentence(await say('restore', backup)), /^The file \S+ is the database of another program\. /)
  assert.deepEqual(readFileSync(path), before)
})

test('exits with code 2 for the database itself under any name, and does not change it', async (t) => {
  const { path, say, file } = await backedUp(t, 'One')
  symlinkSync(path, file('link.db'))
  const before = readFileSync(path)
  for (const args of [
    ['backup', path, '--force'],
    ['backup', file('link.db'), '--force'],
    ['restore', path],
    ['export', path, '--force'],
    ['export', `${path}-wal`, '--force'],
    ['backup', `${path}-shm`, '--force'],
    ['import', path],
  ]) {
    const { code, stderr } = await say(...args)
    assert.equal(code, 2)
    assert.match(stderr, /^\S+ is the database itself\. Choose another file\.\n\nUsage: /)
  }
  assert.deepEqual(readFileSync(path), before)
})

test('requires a FILE and a database', async (t) => {
  const { say } = newPlace(t)
  for (const command of ['backup', 'restore']) {
    const { code, stderr } = await say(command)
    assert.equal(code, 2)
    assert.match(stderr, new RegExp(`^FILE is required\\.\\n\\nUsage: npx waymark ${command} FILE`))
  }
  const { code, stderr } = await say('backup', 'a.db')
  assert.equal(code, 1)
  assert.match(stderr, /^There is no Waymark database at /)
})
