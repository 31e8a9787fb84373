import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { hashToken } from '#platform/crypto/tokens.ts'
import { withQueryTimeout } from '#platform/database/client.ts'
import type { Database } from '#platform/database/connect.ts'
import { type OutageKind, outageKind } from '#platform/database/outage-kinds.ts'
import { ApiError, databaseAway, invalid, notFound } from '#platform/http/errors.ts'
import { acceptsJson, namesType } from '#platform/http/requests.ts'
import * as t from '#platform/http/schemas.ts'
import { createAdministratorCache } from './administrator-cache.ts'
import {
  type Caller,
  createCallerFinder,
  type ExpiredToken,
  type FindCaller,
  findExpiredToken,
} from './caller.ts'
import { type Kind, type Located, locate, VISIBLE_AS } from './locate.ts'
import { can, type Permission } from './permissions.ts'
import { passesCsrfCheck, readSessionCookie } from './session-cookie.ts'
import { requirementOf, type TokenRequirement, unmetRequirement } from './token-limits.ts'

/**
 * The access that a route requires; every route declares one in `config.access`.
 * - `public`: none; `caller: 'optional'`: the route answers callers who are signed in differently.
 * - `signed-in`: a token; the route shows only what belongs to the caller, or what they have one of `shows` for.
 *   `requires`: the route itself requires this permission, in the environment that the body names.
 *   `answer: 'shared'`: it does not depend on the caller.
 * - `instance-admin`: a token of an instance administrator; `or: 'metrics-token'`: or the one in GANTRY_METRICS_TOKEN.
 *   `available: 'while-busy'`: looked up over the reserved connection, so that it works while all others are in use;
 *   `'in-outages'`: also, a token that was used in the last ten minutes is accepted while the database is unreachable.
 * - `permissions`: a token, and every listed permission in the scope of the object that the URL names.
 *   `resource:view` means `view` of the kind of resource that the pipeline runs on; `replay` for the permission
 *   to repeat a hook request: `pipeline:run` for a call, which starts a run, and `hook:edit` for a delivery;
 *   `freeze` for `edit` of what a freeze covers: its environment, or its organization.
 *   `visible: 'by-needs'`: callers with all of them need not be able to view the object itself.
 */
export type Access = { kind: 'public'; caller?: 'optional' } | Guarded

type Guarded = {
  /** What the route requires of a personal access token, where the rule of `requirementOf` does not fit. */
  token?: TokenRequirement
} & (
  | { kind: 'signed-in'; shows?: readonly Permission[]; requires?: Permission; answer?: 'shared' }
  | { kind: 'instance-admin'; or?: 'metrics-token'; available?: Availability }
  | { kind: 'permissions'; of: Kind; param: string; needs: readonly Need[]; visible?: 'by-needs' }
)

type Availability = 'while-busy' | 'in-outages'

type Need = Permission | 'resource:view' | 'replay' | 'freeze'

/** A route, the access it requires, and what it requires of a personal access token; null for public routes. */
export type RouteAccess = { method: string; url: string; access: Access; token: TokenRequirement | null }

declare module 'fastify' {
  interface FastifyInstance {
    /** Every route in the order of registration; a test compares docs/permissions.md with it. */
    accessTable: readonly RouteAccess[]
  }
  interface FastifyContextConfig {
    access?: Access
  }
  interface FastifyRequest {
    caller: Caller | null
    scope: Located | null
    /** Why the database could not be asked for the caller, who is known from before. */
    outage: OutageKind | null
  }
}

/** For a database that is silent: what comes next has to be in time, too. */
const RESERVED_MS = 2_000

export const publicly: Access = { kind: 'public' }
export const publiclyOrSignedIn: Access = { kind: 'public', caller: 'optional' }
export const signedIn: Guarded = { kind: 'signed-in' }
/** Part of the release, not data of anybody: every token may read it. */
export const sharedByAll: Access = { kind: 'signed-in', answer: 'shared', token: 'any' }
export const showing = (...shows: Permission[]): Access => ({ kind: 'signed-in', shows })
export const requiring = (requires: Permission): Access => ({ kind: 'signed-in', requires })
export const instanceAdmin: Access = { kind: 'instance-admin' }

/** The same access, with another requirement for personal access tokens. */
export function withTokens(token: TokenRequirement, access: Guarded): Access {
  return { ...access, token }
}

export function permissions(of: Kind, param: string, ...needs: Need[]): Guarded {
  return { kind: 'permissions', of, param, needs }
}

export function sufficientPermissions(of: Kind, param: string, ...needs: Need[]): Access {
  return { kind: 'permissions', of, param, needs, visible: 'by-needs' }
}

/** Keeps the access of every route of `app` and below, and rejects one without. */
export function recordAccess(app: FastifyInstance): void {
  app.decorateRequest('caller', null)
  app.decorateRequest('scope', null)
  app.decorateRequest('outage', null)
  const accessTable: RouteAccess[] = []
  app.decorate('accessTable', accessTable)
  app.addHook('onRoute', (route) => {
    const { method: methods, url, config } = route
    const access = config?.access
    if (access === undefined) throw new Error(`${methods} ${url} declares no access`)
    for (const method of [methods].flat())
      accessTable.push({ method, url, access, token: tokenRequirement(method, url, access) })
    // Any route may lack a scope of the token.
    const { response } = (route.schema ?? {}) as { response?: object }
    if (access.kind !== 'public' && response)
      route.schema = { ...route.schema, response: { ...t.errorResponses(403), ...response } }
  })
}

/**
 * Checks every request in the order of the contract: authentication (401), existence (404), permissions and CSRF
 * (403), content negotiation (406). All of it happens before a body is read.
 */
export function enforceAccess(
  app: FastifyInstance,
  {
    db,
    reserved,
    baseUrl,
    metricsToken,
  }: { db: Database; reserved: Database; baseUrl: () => string; metricsToken: string | undefined },
): void {
  const administrators = createAdministratorCache()
  const onFound = administrators.note
  const usual: Lookup = { db, findCaller: createCallerFinder(db, { onFound }) }
  const overReserved: Lookup = {
    db: reserved,
    findCaller: createCallerFinder(reserved, { onFound, touchOver: db }),
  }

  async function authenticateOperator(request: FastifyRequest, available: Availability): Promise<Caller> {
    try {
      return await withQueryTimeout(RESERVED_MS, () => authenticate(overReserved, request))
    } catch (error) {
      const kind = outageKind(error)
      if (kind === null) throw error
      const known = available === 'in-outages' ? administrators.find(tokenOf(request)) : undefined
      if (known === undefined) throw databaseAway(kind)
      request.outage = kind
      return known
    }
  }

  app.addHook('onRequest', async (request) => {
    const { access = publicly, notJson, offers } = request.routeOptions.config
    if (access.kind === 'instance-admin' && access.or && hasToken(request, metricsToken)) return
    if (access.kind === 'instance-admin' && access.available)
      request.caller = await authenticateOperator(request, access.available)
    else if (access.kind !== 'public') request.caller = await authenticate(usual, request)
    else if (access.caller) request.caller = await authenticateIfSignedIn(usual, request)
    if (access.kind === 'instance-admin' && !request.caller?.is_instance_admin)
      throw forbidden('Only instance administrators can do this.')
    if (access.kind === 'permissions')
      request.scope = await authorize(db, callerOf(request), access, request.params)
    rejectLimitedToken(request, access)
    if (isByCookie(request) && !passesCsrfCheck(request, baseUrl())) throw forbidden(CSRF_REJECTED)
    if (offers !== undefined && !namesType(request.headers.accept, offers)) {
      throw new ApiError('not_acceptable', `This route returns ${offers}: send Accept: ${offers}.`)
    }
    if (!notJson && offers === undefined && !acceptsJson(request.headers.accept)) {
      throw new ApiError('not_acceptable', 'Responses are JSON: send Accept: application/json.')
    }
  })
}

export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error('This route does not require a caller')
  return request.caller
}

export function scopeOf(request: FastifyRequest): Located {
  if (request.scope === null) throw new Error('This route does not name an object with a scope')
  return request.scope
}

/** True when the session cookie authenticates the caller, not an Authorization header. */
export function isByCookie({ caller, headers }: FastifyRequest): boolean {
  return caller !== null && headers.authorization === undefined
}

/**
 * The token of a request, for looking up its caller again later; empty without one. The header takes precedence over
 * the cookie, even when it is invalid.
 */
export function tokenOf({ headers }: FastifyRequest): string {
  const { authorization, cookie } = headers
  const token =
    authorization === undefined ? readSessionCookie(cookie) : /^Bearer +(.*)$/i.exec(authorization)?.[1]
  return token !== undefined && /^[\w~+/.=-]{1,512}$/.test(token) ? token : ''
}

/** Over which connections tokens are looked up. */
type Lookup = { db: Database; findCaller: FindCaller }

async function authenticate({ db, findCaller }: Lookup, request: FastifyRequest): Promise<Caller> {
  const token = tokenOf(request)
  const caller = token === '' ? undefined : await findCaller(token, request.ip)
  if (caller) return caller
  const expired = token === '' ? undefined : await findExpiredToken(db, token)
  if (expired !== undefined) {
    const headers = { 'www-authenticate': 'Bearer error="invalid_token"' }
    throw new ApiError('token_expired', EXPIRED[expired], { headers })
  }
  const message = 'A valid token is required: send Authorization: Bearer <access_token>.'
  throw new ApiError('unauthenticated', message, { headers: { 'www-authenticate': 'Bearer' } })
}

const EXPIRED: Record<ExpiredToken, string> = {
  cookie: 'Your session has expired. Sign in again.',
  access:
    'This access token has expired. Get a new one with POST /users/refresh-token, or log in again with POST /users/login.',
  personal:
    'This personal access token has expired. Create a new one in your account settings, or sign in again with gantry login.',
}

/** A wrong token in a header is an error. A cookie is sent without asking, and may have expired. */
async function authenticateIfSignedIn(lookup: Lookup, request: FastifyRequest): Promise<Caller | null> {
  if (request.headers.authorization !== undefined) return authenticate(lookup, request)
  const token = tokenOf(request)
  return token === '' ? null : ((await lookup.findCaller(token, request.ip)) ?? null)
}

async function authorize(
  db: Database,
  caller: Caller,
  access: Extract<Access, { kind: 'permissions' }>,
  params: unknown,
): Promise<Located> {
  const id = readId(access, (params as Record<string, string>)[access.param] ?? '')
  const scope = await locate(db, access.of, id)
  if (!scope) throw notFound()
  const missing = access.needs
    .map((need) => permissionFor(need, scope))
    .filter((permission) => !can(caller, permission, scope))
  const isVisible =
    can(caller, `${visibleAs(access.of, scope)}:view`, scope) || (access.visible && missing.length === 0)
  if (!isVisible) throw notFound()
  if (missing.length > 0) throw forbidden(`This requires the permission ${missing.join(' and ')}.`)
  return scope
}

function visibleAs(kind: Kind, scope: Located) {
  return kind === 'freeze' ? frozenBy(scope) : VISIBLE_AS[kind]
}

const frozenBy = ({ environment_id }: Located) => (environment_id == null ? 'organization' : 'environment')

function tokenRequirement(method: string, url: string, access: Access): TokenRequirement | null {
  if (access.kind === 'public') return null
  return access.token ?? requirementOf(method, url, access.kind === 'permissions' ? access.needs : [])
}

function rejectLimitedToken({ method, routeOptions, caller }: FastifyRequest, access: Access): void {
  if (caller?.token.kind !== 'personal') return
  const requirement = tokenRequirement(method, routeOptions.url ?? '', access)
  const problem = requirement && unmetRequirement(caller.token, requirement)
  if (problem) throw forbidden(problem)
}

function permissionFor(need: Need, scope: Located): Permission {
  if (need === 'resource:view') return `${scope.resource_type!}:view`
  if (need === 'replay') return scope.hook_type === 'outgoing' ? 'hook:edit' : 'pipeline:run'
  if (need === 'freeze') return `${frozenBy(scope)}:edit`
  return need
}

/** In constant time: hashes have one length, and say nothing about where two tokens differ. */
export function hasToken(request: FastifyRequest, expected: string | undefined): boolean {
  if (expected === undefined || request.headers.authorization === undefined) return false
  return timingSafeEqual(hashToken(tokenOf(request)), hashToken(expected))
}

const forbidden = (message: string) => new ApiError('forbidden', message)

const CSRF_REJECTED =
  "Cookie-authenticated writes must come from Gantry's own pages, with the header X-Gantry-Request: 1."

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

function readId(access: Extract<Access, { kind: 'permissions' }>, text: string): number | string {
  if (access.of.includes('hook')) {
    if (UUID.test(text)) return text
    throw invalid({ [access.param]: ['must be a UUID'] })
  }
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : 0
  if (Number.isSafeInteger(id) && id >= 1) return id
  throw invalid({ [access.param]: ['must be an integer from 1 to 9007199254740991'] })
}
