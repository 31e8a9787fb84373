import type { Updateable } from 'kysely'
import type { RequestSettings } from '#model/hooks/compile-requests.ts'
import type { HookRow } from '#model/hooks/present-hook.ts'
import { PRESET_EVENTS } from '#model/hooks/presets/parts.ts'
import type {
  HookCapture,
  HookRequestTemplate,
  HookVariable,
  IncomingHookChange,
  OutgoingHookChange,
} from '#model/hooks/schemas.ts'
import { DEFAULT_SIGNATURE_HEADER } from '#model/hooks/signature-headers.ts'
import type { HooksTable } from '#platform/database/tables.ts'

// Input → the columns that it sets. A missing field keeps what is stored, or takes its default in a new hook; a
// given field replaces what is stored as a whole. Pure.

const DEFAULT_RATE_LIMIT = { per_second: 1000, burst: 2000 }

export type HookChange =
  | { type: 'incoming'; body: IncomingHookChange }
  | { type: 'outgoing'; body: OutgoingHookChange }

export function columnsOf({ type, body }: HookChange, stored?: HookRow): Updateable<HooksTable> {
  return type === 'incoming' ? incomingColumns(body, stored) : outgoingColumns(body, stored)
}

function incomingColumns(input: IncomingHookChange, stored?: HookRow): Updateable<HooksTable> {
  const requiresSecret = input.requires_secret ?? stored?.requires_secret ?? false
  const keepsSignature =
    requiresSecret || input.secret_algorithm !== undefined || input.secret_header_name !== undefined
  return {
    type: 'incoming',
    ...commonColumns(input, stored),
    requires_secret: requiresSecret,
    secret_algorithm:
      input.secret_algorithm ?? stored?.secret_algorithm ?? (keepsSignature ? 'sha256' : null),
    secret_header_name:
      input.secret_header_name ??
      stored?.secret_header_name ??
      (keepsSignature ? DEFAULT_SIGNATURE_HEADER : null),
    ...((input.settings || !stored) && { settings: JSON.stringify(incomingSettings(input.settings)) }),
    ...((input.trigger_when || !stored) && {
      trigger_when: JSON.stringify(incomingTrigger(input.trigger_when)),
    }),
  }
}

function outgoingColumns(input: OutgoingHookChange, stored?: HookRow): Updateable<HooksTable> {
  return {
    type: 'outgoing',
    ...commonColumns(input, stored),
    target_url: targetUrlOf(input, stored),
    verify_ssl: input.verify_ssl ?? stored?.verify_ssl ?? true,
    ...(input.credential_id !== undefined && { credential_id: input.credential_id }),
    ...(input.action_type !== undefined && { action_type: input.action_type }),
    ...((input.settings || !stored) && { settings: JSON.stringify(outgoingSettings(input.settings)) }),
    ...((input.trigger_when || !stored) && {
      trigger_when: JSON.stringify(
        outgoingTrigger(input.trigger_when, (input.settings ?? stored?.settings)?.preset !== undefined),
      ),
    }),
  }
}

/** What the hook does with a call once the input is stored: the fields that it sets. */
export function receptionOf(input: Pick<IncomingHookChange, 'settings' | 'trigger_when'>) {
  return {
    ...(input.settings && { settings: incomingSettings(input.settings) }),
    ...(input.trigger_when && { trigger_when: incomingTrigger(input.trigger_when) }),
  }
}

/** What the hook sends once the input is stored. */
export function requestOf(input: OutgoingHookChange, stored?: HookRow) {
  const settings = input.settings || !stored ? outgoingSettings(input.settings) : stored.settings
  return {
    target_url: targetUrlOf(input, stored)!,
    settings: settings as RequestSettings & { timeout_seconds: number },
    credential_id: input.credential_id === undefined ? (stored?.credential_id ?? null) : input.credential_id,
  }
}

function targetUrlOf({ settings, target_url }: OutgoingHookChange, stored?: HookRow) {
  return settings?.requests?.create.target_url ?? target_url ?? stored?.target_url
}

/** Switching a hook on again also clears the reason why it was switched off. */
function commonColumns(input: { name?: string; active?: boolean }, stored?: HookRow): Updateable<HooksTable> {
  return {
    name: input.name ?? stored?.name,
    active: input.active ?? stored?.active ?? true,
    ...(input.active === true && { disabled_at: null, disabled_reason: null }),
  }
}

function incomingSettings(settings: IncomingHookChange['settings']) {
  const { variables = [], signature, rate_limit = DEFAULT_RATE_LIMIT, poll } = settings ?? {}
  return {
    variables: variables.map(completeVariable),
    signature: {
      scheme: signature?.scheme ?? 'body',
      template: signature?.template ?? null,
      timestamp_header: signature?.timestamp_header ?? null,
      id_header: signature?.id_header ?? null,
    },
    rate_limit,
    // Without it the field is absent, as it is in hooks of earlier releases.
    ...(poll && { poll: { ...(poll.refs && { refs: poll.refs }), every_seconds: poll.every_seconds ?? 60 } }),
  }
}

/** Without paths the field is absent, as it is in hooks of earlier releases. */
function incomingTrigger(trigger: IncomingHookChange['trigger_when']) {
  const { conditions = [], paths = [] } = trigger ?? {}
  return { conditions, ...(paths.length > 0 && { paths }) }
}

function completeVariable({ name, path = null, type, required, default_value = null }: HookVariable) {
  return { name, path, type, required, default_value }
}

function outgoingSettings(settings: OutgoingHookChange['settings']) {
  const {
    request_headers = [],
    request_body = null,
    request_method = 'POST',
    timeout_seconds = 15,
    capture = [],
    requests,
    preset,
  } = settings ?? {}
  if (preset) return { preset, timeout_seconds }
  // Without them the fields are absent, as they are in hooks of earlier releases.
  const captured = { ...(capture.length > 0 && { capture: capture.map(completeCapture) }) }
  if (!requests) return { request_headers, request_body, request_method, timeout_seconds, ...captured }
  const { create, update, update_after_create = false } = requests
  return {
    timeout_seconds,
    ...captured,
    requests: { create: completeRequest(create), update: completeRequest(update), update_after_create },
  }
}

function completeCapture({ type = 'string', required = true, hidden = false, ...capture }: HookCapture) {
  return { ...capture, type, required, hidden }
}

function completeRequest({
  method = 'POST',
  target_url,
  request_headers = [],
  request_body = null,
}: HookRequestTemplate) {
  return { method, target_url, request_headers, request_body }
}

function outgoingTrigger(trigger: OutgoingHookChange['trigger_when'], hasPreset: boolean) {
  const {
    events = hasPreset ? PRESET_EVENTS : ['action.status_changed'],
    conditions = [],
    scope = 'pipeline',
  } = trigger ?? {}
  return { events, conditions, scope }
}
