/** Logouts that the provider announces (OpenID Connect Back-Channel Logout 1.0). */

import type { JWTPayload } from 'jose'
import type { Db } from '../../storage/port.ts'
import { query } from '../../storage/schema.ts'
import { useOnce } from '../used-tokens.ts'
import { maxLogoutTokenAgeMs, type OidcClient } from './client.ts'

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'

/**
 * Ends the sessions that a logout token names: the session with its `sid`, otherwise all sessions of the subject. Sessions that
 * OpenID Connect didn't start stay open. Returns the number of ended sessions. Throws if the token is invalid, or was used before.
 */
export async function endSessions(db: Db, client: OidcClient, token: string, now = Date.now()): Promise<number> {
  const { iss, sub, sid, jti } = checkedClaims(await client.verifyLogoutToken(token))
  return db.write(async (tx) => {
    const isNew = await useOnce(tx, `logout ${iss} ${jti}`, now + maxLogoutTokenAgeMs, now)
    if (!isNew) throw new Error('the token was used before')
    const ended = query.deleteFrom('sessions').where('method', '=', 'oidc')
    const members = query
      .selectFrom('members')
      .innerJoin('people', 'people.id', 'members.person_id')
      .select('members.id')
      .where('people.oidc_issuer', '=', iss)
    const own = ended.where(
      'member_id',
      'in',
      sub === undefined ? members : members.where('people.oidc_subject', '=', sub),
    )
    // Some providers name sessions in logouts, but not in ID tokens.
    const named = own.where((e) => {
      const isUnnamed = sub === undefined ? [] : [e('oidc_sid', 'is', null)]
      return e.or([e('oidc_sid', '=', sid ?? ''), ...isUnnamed])
    })
    return (await tx.execute((sid === undefined ? own : named).returning('id'))).length
  })
}

interface LogoutClaims {
  readonly iss: string
  readonly jti: string
  readonly sub: string | undefined
  readonly sid: string | undefined
}

/** Returns the claims of a logout token (§2.4, §2.6). Signature, issuer, audience and age are valid. */
function checkedClaims({ iss, jti, sub, sid, events, nonce }: JWTPayload): LogoutClaims {
  const event = (events as Record<string, unknown> | null)?.[logoutEvent]
  if (typeof event !== 'object' || event === null) throw new Error('the token is not about a logout')
  if (nonce !== undefined) throw new Error('the token has a nonce, as ID tokens have')
  const isText = (value: unknown) => typeof value === 'string' && value !== ''
  if (!isText(jti)) throw new Error('the token has no jti')
  if (![sub, sid].some(isText) || ![sub, sid].every((value) => value === undefined || isText(value))) {
    throw new Error('the token has no valid sid or sub')
  }
  return { iss, jti, sub, sid } as LogoutClaims
}
