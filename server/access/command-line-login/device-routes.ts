import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { tooManyAttempts } from '#access/accounts/login.ts'
import { operation } from '#access/accounts/session-routes.ts'
import { loadUser } from '#access/accounts/user-schema.ts'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, publicly, signedIn, withTokens } from '#access/authorization/enforce.ts'
import type { Database } from '#platform/database/connect.ts'
import { ApiError, invalid } from '#platform/http/errors.ts'
import * as t from '#platform/http/schemas.ts'
import { requireBrowser } from './browser-only.ts'
import {
  answerDevice,
  createDeviceCode,
  INTERVAL_SECONDS,
  LIFE_SECONDS,
  takeDeviceToken,
} from './device-codes.ts'
import {
  deviceApproval,
  deviceInput,
  deviceLogin,
  deviceSchema,
  deviceTokenInput,
  exchanged,
  userCodeInput,
} from './schemas.ts'

export type DeviceRoutes = { db: Database; baseUrl: () => string }

const ANSWERS = [
  [
    'look',
    'lookup',
    'lookUpDevice',
    'Look up the machine behind a code',
    'Shows what a person is about to approve.',
  ],
  [
    'approved',
    'approve',
    'approveDevice',
    'Approve the login of a machine',
    'The machine gets a token that has every permission of yours, except that it approves runs only with `may_approve`.',
  ],
  ['denied', 'deny', 'denyDevice', 'Deny the login of a machine', 'The machine learns that it was denied.'],
] as const

/** The responses to a command line that has no token yet. */
const WAITS = {
  pending: ['authorization_pending', 'This login has not been approved yet.'],
  expired: ['expired_token', 'This login has expired, or was used. Run gantry login again.'],
  denied: ['access_denied', 'This login was denied.'],
  'too-fast': ['slow_down', `Ask at most every ${INTERVAL_SECONDS} seconds.`],
} as const

export const deviceRoutes: FastifyPluginAsyncTypebox<DeviceRoutes> = async (app, { db, baseUrl }) => {
  app.post(
    '/session/device-codes',
    operation(publicly, 'createDeviceCode', 'Start the login of a machine without a browser', {
      description:
        'For `gantry login` where no browser can be opened. A person opens `verification_url` on any machine, signs in and enters `user_code`; meanwhile POST /session/device-codes/token answers 409 `authorization_pending`.',
      body: t.ref(deviceInput),
      response: { 201: t.ref(deviceLogin), ...t.errorResponses(400, 422, 429) },
    }),
    async (request, reply) => {
      const created = await createDeviceCode(db, request.body.name, actorOf(request))
      if (created.kind === 'throttled') throw tooManyAttempts(created)
      if (created.kind === 'too-many')
        throw new ApiError('too_many_requests', 'Too many unfinished logins; wait before you try again.', {
          headers: { 'retry-after': String(LIFE_SECONDS) },
        })
      const { device_code, user_code } = created
      return reply.code(201).send({
        device_code,
        user_code,
        verification_url: `${baseUrl()}/app/device`,
        expires_in: LIFE_SECONDS,
        interval: INTERVAL_SECONDS,
      })
    },
  )

  for (const [answer, path, id, summary, effect] of ANSWERS)
    app.post(
      `/session/device-codes/${path}`,
      {
        ...operation(withTokens('none', signedIn), id, summary, {
          description: `For the page \`/app/device\`. ${effect} Requires the session cookie of a browser; tokens are rejected. Five wrong codes are allowed per session, and they count as failed logins.`,
          body: answer === 'approved' ? t.ref(deviceApproval) : t.ref(userCodeInput),
          response: { 200: t.ref(deviceSchema), ...t.errorResponses(400, 401, 403, 409, 422, 429) },
        }),
        onRequest: requireBrowser,
      },
      (request: FastifyRequest<{ Body: t.Static<typeof deviceApproval> }>) => answered(request, answer),
    )

  async function answered(
    request: FastifyRequest<{ Body: t.Static<typeof deviceApproval> }>,
    answer: (typeof ANSWERS)[number][0],
  ) {
    const outcome = await answerDevice(db, callerOf(request), request.body, answer, actorOf(request))
    switch (outcome.kind) {
      case 'done':
        return outcome.device
      case 'unknown-code':
        throw invalid({ user_code: [unknownCode(outcome.left)] })
      case 'too-many-wrong':
        throw new ApiError(
          'forbidden',
          'Too many wrong codes in this session. Sign in again to enter another.',
        )
      case 'answered-before':
        throw new ApiError('conflict', 'This login was approved or denied before.')
      case 'ended':
        throw new ApiError('forbidden', 'Your session was revoked.')
      case 'throttled':
        throw tooManyAttempts(outcome)
    }
  }

  app.post(
    '/session/device-codes/token',
    operation(publicly, 'takeDeviceToken', 'Get the token of an approved login', {
      description:
        'Answers the token once. Until a person approves: 409 `authorization_pending`; more often than every `interval` seconds: 429 `slow_down`; after a denial: 403 `access_denied`; after ten minutes, or when the token was fetched: 409 `expired_token`. The token is like that of POST /session/authorizations/token.',
      body: t.ref(deviceTokenInput),
      response: { 201: exchanged, ...t.errorResponses(400, 403, 409, 422, 429) },
    }),
    async (request, reply) => {
      const taken = await takeDeviceToken(db, request.body.device_code, actorOf(request))
      if (taken.kind === 'done')
        return reply.code(201).send({ ...taken.row, user: await loadUser(db, taken.userId) })
      const [code, message] = WAITS[taken.kind]
      throw new ApiError(code, message, {
        headers: code === 'slow_down' ? { 'retry-after': String(INTERVAL_SECONDS) } : {},
      })
    },
  )
}

function unknownCode(left: number): string {
  const tries = left === 0 ? 'no more tries' : left === 1 ? 'one more try' : `${left} more tries`
  return `is not the code of a login that waits: it may have expired. This session has ${tries}`
}
