import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { networkOf } from '#access/accounts/networks.ts'
import { clientOf } from '#access/accounts/start-session.ts'
import { actorOf } from '#access/audit/actor.ts'
import { type Actor, recordAccount } from '#access/audit/record.ts'
import type { Database } from '#platform/database/connect.ts'
import { ApiError } from '#platform/http/errors.ts'
import { pathAndQuery } from '#platform/http/requests.ts'
import {
  newAttempt,
  type Purpose,
  readAttemptCookie,
  storeAttempt,
  takeAttempt,
  writeAttemptCookie,
} from './attempts.ts'
import type { Provider } from './provider.ts'
import {
  completeSignIn,
  type ProblemCode,
  type Refused,
  type SignInDeps,
  type SignInOutcome,
} from './sign-in.ts'

export type FlowDeps = SignInDeps & { provider: Provider; baseUrl: () => string }

export type Flow = {
  /** Sets a cookie of the browser, which then goes to `url`: to the provider or, without it, to a page that says so. */
  begin(request: FastifyRequest, reply: FastifyReply, purpose: Purpose): Promise<{ url: string }>
  /** For the request that the browser brings back from the provider. `page` is where it goes next. */
  finish(request: FastifyRequest): Promise<{ page: string; sessionToken: string | null }>
}

/** One sign-in at the provider: from the page to the provider, and back. */
export function createFlow(deps: FlowDeps): Flow {
  const { db, provider, baseUrl } = deps
  const recordFailure = createFailureRecorder(db)
  const redirectUri = () => `${baseUrl()}/session/oidc/callback`
  const problemPage = (purpose: Purpose['kind'] | null, code: ProblemCode) =>
    `${baseUrl()}/app/${purpose === 'link' ? 'account' : 'sign-in'}?problem=${code}`

  async function identify(request: FastifyRequest) {
    const url = new URL(redirectUri())
    url.search = new URL(pathAndQuery(request.url), 'http://callback').search
    const states = url.searchParams.getAll('state')
    const secret = readAttemptCookie(request.headers.cookie, baseUrl())
    const attempt = await takeAttempt(db, states.length === 1 ? states[0] : undefined, secret)
    if (attempt.kind === 'refused') return { purpose: null, outcome: refused('sso_expired', attempt.reason) }
    const { purpose, checks } = attempt
    const answer = await provider.identify(url, checks)
    switch (answer.kind) {
      case 'identified':
        return {
          purpose,
          outcome: await completeSignIn(deps, purpose, answer.person, clientOf(request, baseUrl())),
        }
      case 'rejected':
        return { purpose, outcome: refused('sso_rejected', answer.reason) }
      case 'unavailable':
        return { purpose, outcome: refused('sso_unavailable', answer.reason) }
    }
  }

  return {
    async begin({ log, ip }, reply, purpose) {
      const attempt = newAttempt()
      const ready = await provider.authorizationUrl(redirectUri(), attempt.checks)
      if (ready.kind === 'unavailable') {
        log.warn({ purpose: purpose.kind, reason: ready.reason }, 'identity provider unavailable')
        return { url: problemPage(purpose.kind, 'sso_unavailable') }
      }
      if (!(await storeAttempt(db, attempt, purpose, networkOf(ip))))
        throw new ApiError('too_many_requests', 'Too many unfinished sign-ins; wait before you try again.', {
          headers: { 'retry-after': '600' },
        })
      reply.header('set-cookie', writeAttemptCookie(attempt.secret, baseUrl()))
      return { url: ready.url }
    },

    async finish(request) {
      const { purpose, outcome } = await identify(request)
      if (outcome.kind === 'refused') await recordFailure(actorOf(request), outcome)
      const kind = purpose?.kind ?? null
      logOutcome(request.log, kind, outcome)
      switch (outcome.kind) {
        case 'signed-in':
          return { page: `${baseUrl()}/app`, sessionToken: outcome.token }
        case 'linked':
          return { page: `${baseUrl()}/app/account`, sessionToken: null }
        case 'refused':
          return { page: problemPage(kind, outcome.code), sessionToken: null }
      }
    },
  }
}

const refused = (code: Refused['code'], reason: string): Refused => ({ kind: 'refused', code, reason })

function logOutcome(log: FastifyBaseLogger, purpose: Purpose['kind'] | null, outcome: SignInOutcome): void {
  switch (outcome.kind) {
    case 'signed-in': {
      const { userId: user_id, skipped } = outcome
      log.info({ purpose, user_id }, 'signed in by single sign-on')
      if (skipped.length > 0) log.warn({ user_id, roles: skipped }, 'mapped roles skipped')
      break
    }
    case 'linked':
      log.info({ purpose, user_id: outcome.userId }, 'identity linked')
      break
    case 'refused': {
      const { code, reason, account } = outcome
      log.warn({ purpose, problem: code, reason, user_id: account?.id ?? null }, 'single sign-on failed')
      break
    }
  }
}

const WINDOW_MS = 15 * 60 * 1_000
const MAX_RECORDED = 50
const MAX_NETWORKS = 10_000

/**
 * Records failed sign-ins in the audit log: only so many from one network in a while, because anybody can cause them
 * and entries stay forever.
 */
function createFailureRecorder(db: Database) {
  const recorded = new LRUCache<string, { count: number }>({ max: MAX_NETWORKS, ttl: WINDOW_MS })

  return async (actor: Actor, { reason, account }: Pick<Refused, 'reason' | 'account'>): Promise<void> => {
    const network = networkOf(actor.ipAddress ?? '')
    const counter = recorded.get(network) ?? { count: 0 }
    if (counter.count === 0) recorded.set(network, counter)
    counter.count += 1
    if (counter.count > MAX_RECORDED) return
    const subject = account ?? { id: 'unknown', email: 'unknown' }
    const after = { method: 'oidc', reason }
    await db.transaction().execute((trx) => recordAccount(trx, actor, 'sign_in_failed', subject, { after }))
  }
}
