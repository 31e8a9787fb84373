import type { ErrorsByField } from '#platform/http/validation.ts'
import type { RequestSettings } from './compile-requests.ts'
import type { TokenOwner } from './presets/api-base.ts'
import { expandPreset } from './presets/expand.ts'
import type { HookCondition } from './schemas.ts'

type Stored = { target_url: string; settings: RequestSettings & { timeout_seconds: number } }

export type EffectiveRequest = Stored & {
  kind: 'request'
  /** Which events it reports by default. */
  events: readonly string[]
  /** In addition to those of the hook. */
  conditions: HookCondition[]
}

/** What a hook sends: its own request, or that of its preset with the token of this credential. Pure. */
export function effectiveRequest(
  { target_url, settings }: Stored,
  credential: TokenOwner | null,
): EffectiveRequest | { kind: 'unfit'; errors: ErrorsByField } {
  const { preset, timeout_seconds } = settings
  if (!preset)
    return { kind: 'request', target_url, settings, events: ['action.status_changed'], conditions: [] }
  const expanded = expandPreset(preset, credential, timeout_seconds)
  return expanded.kind === 'unfit' ? expanded : { ...expanded, kind: 'request' }
}
