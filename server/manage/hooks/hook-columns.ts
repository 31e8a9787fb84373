import type { Updateable } from 'kysely'
import type { HookRequest } from '#adapters/templates/compile.ts'
import type { HookRow } from '#model/hooks/present-hook.ts'
import type { HookVariable, IncomingHookChange, OutgoingHookChange } from '#model/hooks/schemas.ts'
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
      (keepsSignature ? 'X-Hub-Signature-256' : null),
    ...((input.settings || !stored) && { settings: JSON.stringify(incomingSettings(input.settings)) }),
    ...((input.trigger_when || !stored) && {
      trigger_when: JSON.stringify({ conditions: input.trigger_when?.conditions ?? [] }),
    }),
  }
}

function outgoingColumns(input: OutgoingHookChange, stored?: HookRow): Updateable<HooksTable> {
  return {
    type: 'outgoing',
    ...commonColumns(input, stored),
    target_url: input.target_url ?? stored?.target_url,
    verify_ssl: input.verify_ssl ?? stored?.verify_ssl ?? true,
    ...(input.action_type !== undefined && { action_type: input.action_type }),
    ...((input.settings || !stored) && { settings: JSON.stringify(outgoingSettings(input.settings)) }),
    ...((input.trigger_when || !stored) && {
      trigger_when: JSON.stringify(outgoingTrigger(input.trigger_when)),
    }),
  }
}

/** What the hook does with a call once the input is stored: the fields that it sets. */
export function receptionOf(input: Pick<IncomingHookChange, 'settings' | 'trigger_when'>) {
  return {
    ...(input.settings && { settings: incomingSettings(input.settings) }),
    ...(input.trigger_when && { trigger_when: { conditions: input.trigger_when.conditions ?? [] } }),
  }
}

/** What the hook sends once the input is stored. */
export function requestOf(input: OutgoingHookChange, stored?: HookRow) {
  const settings = input.settings || !stored ? outgoingSettings(input.settings) : stored.settings
  return {
    target_url: (input.target_url ?? stored?.target_url)!,
    settings: settings as HookRequest['settings'] & ReturnType<typeof outgoingSettings>,
  }
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
  const { variables = [], signature, rate_limit = DEFAULT_RATE_LIMIT } = settings ?? {}
  return {
    variables: variables.map(completeVariable),
    signature: {
      scheme: signature?.scheme ?? 'body',
      template: signature?.template ?? null,
      timestamp_header: signature?.timestamp_header ?? null,
      id_header: signature?.id_header ?? null,
    },
    rate_limit,
  }
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
  } = settings ?? {}
  return { request_headers, request_body, request_method, timeout_seconds }
}

function outgoingTrigger(trigger: OutgoingHookChange['trigger_when']) {
  const { events = ['action.status_changed'], conditions = [], scope = 'pipeline' } = trigger ?? {}
  return { events, conditions, scope }
}
