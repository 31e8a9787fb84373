import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Database } from '#platform/database/connect.ts'
import { ApiError, invalid, notFound } from '#platform/http/errors.ts'
import { acceptsJson, namesType } from '#platform/http/negotiation.ts'
import '#platform/http/route-config.ts'
import { type Caller, createCallerFinder, type FindCaller } from './caller.ts'
import { type Kind, type Located, locate, SEEN_AS } from './locate.ts'
import { can, type Permission } from './permissions.ts'
import { isMeant, readSessionCookie } from './session-cookie.ts'

/**
 * What a route demands of its caller; every route declares one in `config.access`.
 * - `public`: nothing.
 * - `signed-in`: a token; the route shows only what belongs to the caller, or what they have `shows` for.
 * - `instance-admin`: a token of an administrator of this installation; `orLoopback`: or this very machine.
 * - `permissions`: a token, and every listed permission at the place of the thing that the address names.
 *   `resource:view` stands for `view` of the kind of resource that the pipeline runs on; `replay` for what
 *   doing it again takes: `pipeline:run` for a call, which starts a run, and `hook:edit` for a delivery.
 */
export type Access =
  | { kind: 'public' }
  | { kind: 'signed-in'; shows?: Permission }
  | { kind: 'instance-admin'; orLoopback?: boolean }
  | { kind: 'permissions'; of: Kind; param: string; needs: readonly Need[] }

export type Need = Permission | 'resource:view' | 'replay'

/** A route and what it demands. */
export type RouteAccess = { method: string; url: string; access: Access }

declare module 'fastify' {
  interface FastifyInstance {
    /** Every route in the order of registration; docs/permissions.md is held against it. */
    accessTable: readonly RouteAccess[]
  }
  interface FastifyContextConfig {
    access?: Access
  }
  interface FastifyRequest {
    caller: Caller | null
    place: Located | null
  }
}

export const publicly: Access = { kind: 'public' }
export const signedIn: Access = { kind: 'signed-in' }
export const showing = (shows: Permission): Access => ({ kind: 'signed-in', shows })
export const instanceAdmin: Access = { kind: 'instance-admin' }

export function permissions(of: Kind, param: string, ...needs: Need[]): Access {
  return { kind: 'permissions', of, param, needs }
}

/**
 * Asks the questions of every request in the contract's order: who (401), is it there (404), may they, and do
 * they mean it (403), can we answer in a form that they accept (406). All of it happens before a body is read.
 */
export function enforceAccess(app: FastifyInstance, db: Database, baseUrl: () => string): void {
  const findCaller = createCallerFinder(db)
  app.decorateRequest('caller', null)
  app.decorateRequest('place', null)
  const accessTable: RouteAccess[] = []
  app.decorate('accessTable', accessTable)
  app.addHook('onRoute', ({ method: methods, url, config }) => {
    const access = config?.access
    if (access === undefined) throw new Error(`${methods} ${url} declares no access`)
    accessTable.push(...[methods].flat().map((method) => ({ method, url, access })))
  })
  app.addHook('onRequest', async (request) => {
    const { access = publicly, notJson, offers } = request.routeOptions.config
    if (access.kind === 'instance-admin' && access.orLoopback && isFromThisMachine(request)) return
    if (access.kind !== 'public') request.caller = await authenticate(findCaller, request)
    if (access.kind === 'instance-admin' && !request.caller?.is_instance_admin) throw forbidden()
    if (access.kind === 'permissions')
      request.place = await authorize(db, callerOf(request), access, request.params)
    if (isByCookie(request) && !isMeant(request, baseUrl())) throw notMeant()
    if (offers !== undefined && !namesType(request.headers.accept, offers)) {
      throw new ApiError('not_acceptable', `The answer is of another type: send Accept: ${offers}.`)
    }
    if (!notJson && offers === undefined && !acceptsJson(request.headers.accept)) {
      throw new ApiError('not_acceptable', 'Answers are JSON: send Accept: application/json.')
    }
  })
}

export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error('This route does not demand a caller')
  return request.caller
}

export function scopeOf(request: FastifyRequest): Located {
  if (request.place === null) throw new Error('This route is not about a thing with a place')
  return request.place
}

/** True when the caller is known by the cookie of their browser, and not by a token that they sent on purpose. */
export function isByCookie({ caller, headers }: FastifyRequest): boolean {
  return caller !== null && headers.authorization === undefined
}

/**
 * For whoever has to look the caller up again, later in the same request; empty without a token. The header
 * wins over the cookie, also when it is wrong.
 */
export function tokenOf({ headers }: FastifyRequest): string {
  const { authorization, cookie } = headers
  const token =
    authorization === undefined ? readSessionCookie(cookie) : /^Bearer +(.*)$/i.exec(authorization)?.[1]
  return token !== undefined && /^[\w~+/.=-]{1,512}$/.test(token) ? token : ''
}

async function authenticate(findCaller: FindCaller, request: FastifyRequest): Promise<Caller> {
  const token = tokenOf(request)
  const caller = token === '' ? undefined : await findCaller(token)
  if (caller) return caller
  throw new ApiError(
    'unauthenticated',
    'A valid token is needed: send Authorization: Bearer <access_token>.',
    {
      headers: { 'www-authenticate': 'Bearer' },
    },
  )
}

async function authorize(
  db: Database,
  caller: Caller,
  access: Extract<Access, { kind: 'permissions' }>,
  params: unknown,
): Promise<Located> {
  const id = readId(access, (params as Record<string, string>)[access.param] ?? '')
  const place = await locate(db, access.of, id)
  if (!place || !can(caller, `${SEEN_AS[access.of]}:view`, place)) throw notFound()
  const lacking = access.needs
    .map((need) => permissionFor(need, place))
    .filter((need) => !can(caller, need, place))
  if (lacking.length > 0) throw forbidden(lacking)
  return place
}

function permissionFor(need: Need, place: Located): Permission {
  if (need === 'resource:view') return `${place.resource_type!}:view`
  if (need === 'replay') return place.hook_type === 'outgoing' ? 'hook:edit' : 'pipeline:run'
  return need
}

/** A proxy on this machine speaks for somebody else: its forwarding header gives it away. */
function isFromThisMachine(request: FastifyRequest): boolean {
  const forwarded = request.headers['x-forwarded-for'] ?? request.headers.forwarded
  return forwarded === undefined && /^(::ffff:)?127\.|^::1$/.test(request.socket.remoteAddress ?? '')
}

function forbidden(lacking?: Permission[]): ApiError {
  const what = lacking
    ? `You need the permission ${lacking.join(' and ')} here.`
    : 'Only administrators of this installation may do this.'
  return new ApiError('forbidden', what)
}

const notMeant = () =>
  new ApiError(
    'forbidden',
    'Whoever is signed in by cookie changes things from pages of this service only, with the header X-Gantry-Request: 1.',
  )

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

function readId(access: Extract<Access, { kind: 'permissions' }>, text: string): number | string {
  if (access.of.includes('hook')) {
    if (UUID.test(text)) return text
    throw invalid({ [access.param]: ['must be a UUID'] })
  }
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : 0
  if (Number.isSafeInteger(id) && id >= 1) return id
  throw invalid({ [access.param]: ['must be a whole number from 1 to 9007199254740991'] })
}
