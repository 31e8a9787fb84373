import { type CompiledRequest, compileRequest } from '#adapters/templates/compile.ts'
import { withCaptured } from '#adapters/templates/names.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import type { Preset } from './presets/schema.ts'
import type { HookCapture, HookRequestTemplate } from './schemas.ts'
import { templateNames } from './template-names.ts'
import { originsOf } from './token-use.ts'

/** What a hook sends, as it is stored: one request, or one that creates and one that updates. */
export type RequestSettings = {
  request_headers?: { name: string; value: string }[]
  request_body?: Record<string, unknown> | null
  request_method?: string
  capture?: Required<Pick<HookCapture, 'name' | 'type' | 'required' | 'hidden'>>[] & HookCapture[]
  preset?: Preset
  requests?: { create: HookRequestTemplate; update: HookRequestTemplate; update_after_create?: boolean }
}

export type PlannedRequest = {
  method: string
  targetUrl: string
  compiled: CompiledRequest
  /** A template of it reads a token or a hidden captured value: its record is rendered without them. */
  readsSecret: boolean
}

export type CompiledRequests = {
  /** The only request, or the one that creates. */
  first: PlannedRequest
  update: PlannedRequest | null
  updatesAfterCreate: boolean
  usesAccessToken: boolean
  readsSecret: boolean
  /** Where `credential.access_token` goes. */
  origins: readonly string[]
  reads: ReadonlySet<string>
}

/**
 * Compiles everything that a hook may send, or finds all problems at once. Nothing is captured before the request that
 * creates, so its templates do not know captured values. Pure.
 */
export function compileRequests(hook: {
  target_url: string
  settings: RequestSettings
}): { kind: 'compiled'; requests: CompiledRequests } | { kind: 'invalid'; errors: ErrorsByField } {
  const { capture = [], requests, request_method = 'POST' } = hook.settings
  const names = templateNames()
  const captured = capture.map(({ name }) => name)
  const capturedNames = withCaptured(names, captured)
  const hidden = capture.filter((one) => one.hidden).map(({ name }) => `captured.${name}`)
  const secrets = hidden.length > 0 ? [...hidden, 'captured.*'] : []
  const only = { ...hook.settings, method: request_method, target_url: hook.target_url }
  const first = requests
    ? compile(requests.create, names, secrets, 'settings.requests.create')
    : compile(only, capturedNames, secrets)
  const update = requests
    ? compile(requests.update, capturedNames, secrets, 'settings.requests.update')
    : null
  const errors = {
    ...('errors' in first && first.errors),
    ...(update && 'errors' in update && update.errors),
  }
  if ('errors' in first || (update && 'errors' in update)) return { kind: 'invalid', errors }
  const all = update ? [first.compiled, update.compiled] : [first.compiled]
  return {
    kind: 'compiled',
    requests: {
      first,
      update,
      updatesAfterCreate: requests?.update_after_create ?? false,
      usesAccessToken: all.some(({ usesAccessToken }) => usesAccessToken),
      readsSecret: first.readsSecret || update?.readsSecret === true,
      origins: originsOf(all),
      reads: new Set(all.flatMap(({ reads }) => [...reads])),
    },
  }
}

/** Everything that a hook may send. */
export function allOf({ first, update }: CompiledRequests): CompiledRequest[] {
  return update ? [first.compiled, update.compiled] : [first.compiled]
}

function compile(
  { method = 'POST', target_url, request_headers = [], request_body = null }: HookRequestTemplate | AnyMethod,
  names: ReturnType<typeof templateNames>,
  /** The names of hidden values. */
  secrets: readonly string[],
  at?: string,
): PlannedRequest | { errors: ErrorsByField } {
  const settings = { request_headers, request_body, request_method: method }
  const compiled = compileRequest({ target_url, settings }, names, at)
  if (compiled.kind === 'invalid') return { errors: compiled.errors }
  const { request } = compiled
  const readsSecret = request.usesAccessToken || secrets.some((name) => request.reads.has(name))
  return { method, targetUrl: target_url, compiled: request, readsSecret }
}

type AnyMethod = Omit<HookRequestTemplate, 'method'> & { method: string }
