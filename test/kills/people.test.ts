import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import type { Answer, Json } from '../client.ts'
import { Browser, type Visited } from '../dashboard.ts'
import { peopleKinds, readPeople } from '../event-log.ts'
import { runs } from '../runs.ts'
import type { KilledServer } from './killed-server.ts'
import { type Ledger, Unavailable } from './ledger.ts'
import { testRounds, type WriterTools } from './rounds.ts'

/** Someone who invites people one after another, changes their roles and removes them. */
class Inviter {
  readonly #tools: WriterTools
  #turn = 0

  constructor(tools: WriterTools) {
    this.#tools = tools
  }

  /** Invites one person, who joins and creates keys, and may be removed. */
  async guide(): Promise<void> {
    this.#turn += 1
    const mark = `${this.#tools.name}-t${this.#turn}`
    const invitation = await this.#ask('POST', '/invitations', ['invitation.created'], { role: 'admin', name: mark })
    const [, token = ''] = String(invitation.body.data.url).split('#')
    const browser = await this.#join(token, mark)
    const [row] = (await this.#tools.killed.server.ask('GET', `/members?search=${mark}`)).body.data
    const path = `/members/${row.id}`
    for (let key = 0; key < this.#turn % 3; key++) {
      const form = { name: `${mark}-k${key}`, expires: 'never', 'links:read': 'true' }
      await this.#send(['key.created'], (headers) => browser.post('/app/keys', form, { headers }))
    }
    const role = ['viewer', 'editor', 'owner'][randomInt(3)]
    await this.#ask('PATCH', path, ['member.updated'], { role })
    if (randomInt(4) === 0) return
    const keeps = randomInt(3) === 0
    const revoked = keeps ? [] : Array.from({ length: this.#turn % 3 }, () => 'key.revoked')
    await this.#ask('DELETE', `${path}${keeps ? '?keys=keep' : ''}`, ['member.removed', ...revoked])
    assert.equal((await browser.get('/app')).status, 303)
  }

  /** Two people use the same invitation at the same time. Returns the browser of the new member. */
  async #join(token: string, mark: string): Promise<Browser> {
    const browsers = [1, 2].map(() => new Browser(this.#tools.killed.server))
    for (const browser of browsers) assert.equal((await browser.post('/app/join', { token })).status, 303)
    const tries = browsers.map((browser) =>
      this.#send(
        ['member.joined', 'invitation.deleted'],
        (headers) => browser.post('/app/join', { name: mark }, { headers }),
        mark,
      ),
    )
    const answers = await Promise.allSettled(tries)
    const cut = answers.find((each) => each.status === 'rejected')
    if (cut !== undefined) throw cut.reason
    return browsers[answers.findIndex(({ value }: Json) => value.status === 303)] ?? assert.fail('No one has joined.')
  }

  #ask(method: string, path: string, types: readonly string[], json?: Json): Promise<Answer> {
    const { server } = this.#tools.killed
    return this.#send(types, (headers) => server.ask(method, path, { headers, ...(json && { json }) }))
  }

  #send<Got extends Answer | Visited>(
    types: readonly string[],
    ask: (headers: Record<string, string>) => Promise<Got>,
    rivals?: string,
  ): Promise<Got> {
    return this.#tools.ledger.send(this.#tools.name, { types, ...(rivals && { rivals }) }, ask)
  }
}

/** Repeats a step that is given up while the database is too slow, when nobody knows what happened. */
function unlessUnavailable(step: () => Promise<void>): () => Promise<void> {
  return () =>
    step().catch((error: unknown) => {
      if (!(error instanceof Unavailable)) throw error
    })
}

/** Checks that no one has access without being a member, and that no one is left without a membership. */
async function checkRemains(killed: KilledServer): Promise<void> {
  for (const wrong of [
    'select id from sessions where member_id is null and key_id is null',
    'select id from people where not exists (select 1 from members where person_id = people.id)',
    `select id from accounts where not exists (select 1 from members where account_id = accounts.id and role = 'owner')
      and id > 0`,
    // A key without its creator is revoked, or was kept on purpose: its request has the expected events.
    'select id from keys where member_id is null and created_by is null and id > 1',
  ]) {
    assert.deepEqual(await killed.query(wrong), [], wrong)
  }
}

/** Deletes the invitations that kills have left open. An account may have 100. */
async function deleteInvitations({ server }: KilledServer, ledger: Ledger): Promise<void> {
  const { data } = (await server.ask('GET', '/invitations?per_page=100')).body
  for (const { id } of data) {
    const sent = { types: ['invitation.deleted'] }
    await ledger.send('rest', sent, (headers) => server.ask('DELETE', `/invitations/${id}`, { headers }))
  }
}

const kills = runs(40, 2)

testRounds({
  title: 'joins, roles and removals are complete or missing after SIGKILL',
  rounds: { sqlite: kills, postgres: kills },
  writers: runs(10, 4),
  requests: [20, 70],
  kinds: peopleKinds,
  write(tools) {
    const inviter = new Inviter(tools)
    return unlessUnavailable(() => inviter.guide())
  },
  read: ({ variables }) => readPeople(variables),
  async check(killed, ledger) {
    await checkRemains(killed)
    await deleteInvitations(killed, ledger)
  },
})
