import type { HookRow } from '#model/hooks/present-hook.ts'
import type { HookCapture, OutgoingHookChange } from '#model/hooks/schemas.ts'
import type { FieldErrors } from '#platform/http/problems.ts'
import { checkPath } from './validate-conditions.ts'

const OF_ONE_REQUEST = ['request_headers', 'request_body', 'request_method'] as const

type Stored = Partial<Pick<HookRow, 'settings' | 'target_url'>>

/** Which fields of an outgoing hook's request go together. Pure. */
export function checkRequests(input: OutgoingHookChange, stored: Stored | undefined, errors: FieldErrors) {
  const { capture = [], requests, preset } = input.settings ?? {}
  if (preset) {
    checkAlone(input, stored, errors)
    return
  }
  checkCapture(capture, errors)
  if (!input.settings && input.target_url !== undefined && stored?.settings?.requests !== undefined)
    errors.add('target_url', 'is that of settings.requests.create; change it there')
  if (!input.settings && input.target_url !== undefined && stored?.settings?.preset !== undefined)
    errors.add('target_url', 'is that of settings.preset; eject the hook to change it')
  if (!requests) return
  if (input.target_url !== undefined && input.target_url !== requests.create.target_url)
    errors.add('target_url', 'must be that of settings.requests.create, or absent')
  for (const field of OF_ONE_REQUEST)
    if (input.settings![field] !== undefined)
      errors.add(`settings.${field}`, 'must be absent: each of settings.requests has its own')
  if (!capture.some(({ required = true }) => required))
    errors.add('settings.capture', 'must have a required value: once it is known, requests.update is sent')
}

export const PRESET_ALONE = 'must be absent: settings.preset has its own'

const REPLACED = [...OF_ONE_REQUEST, 'capture', 'requests'] as const

/** A preset has everything of the request. */
function checkAlone(
  { settings, target_url }: OutgoingHookChange,
  stored: Stored | undefined,
  errors: FieldErrors,
): void {
  if (target_url !== undefined && target_url !== stored?.target_url) errors.add('target_url', PRESET_ALONE)
  for (const field of REPLACED)
    if (settings![field] !== undefined) errors.add(`settings.${field}`, PRESET_ALONE)
}

function checkCapture(capture: readonly HookCapture[], errors: FieldErrors): void {
  const seen = new Set<string>()
  capture.forEach(({ name, path, header, type, hidden }, index) => {
    const field = `settings.capture.${index}`
    if (seen.has(name.toLowerCase()))
      errors.add(`${field}.name`, 'is taken by another captured value (names are case-insensitive)')
    seen.add(name.toLowerCase())
    if ((path === undefined) === (header === undefined)) errors.add(field, 'must have either path or header')
    if (hidden && type === 'boolean') errors.add(`${field}.hidden`, 'must be false for a boolean')
    if (path !== undefined) checkPath(path, `${field}.path`, errors)
  })
}

/** The URLs that a change sets, with the fields that they are in. */
export function targetUrlsOf(body: OutgoingHookChange): { field: string; url: string }[] {
  const { requests } = body.settings ?? {}
  const inRequests = (['create', 'update'] as const).map((which) => ({
    field: `settings.requests.${which}.target_url`,
    url: requests?.[which].target_url,
  }))
  const found = [{ field: 'target_url', url: requests ? undefined : body.target_url }, ...inRequests]
  return found.flatMap(({ field, url }) => (url === undefined ? [] : [{ field, url }]))
}
