import type { Updateable } from 'kysely'
import type { HookRequest } from '#adapters/templates/compile.ts'
import type { HookRow } from '#model/hooks/present-hook.ts'
import type { HookVariable, IncomingHookChange, OutgoingHookChange } from '#model/hooks/schemas.ts'
import type { HooksTable } from '#platform/database/tables.ts'

// A wish → the columns it sets. A field that is not given keeps what is stored, or takes its default when
// nothing is stored yet; a field that is given replaces what is stored, whole. Pure.

const DEFAULT_RATE_LIMIT = { per_second: 1000, burst: 2000 }

export function incomingColumns(wish: IncomingHookChange, stored?: HookRow): Updateable<HooksTable> {
  const requiresSecret = wish.requires_secret ?? stored?.requires_secret ?? false
  const keepsSignature =
    requiresSecret || wish.secret_algorithm !== undefined || wish.secret_header_name !== undefined
  return {
    type: 'incoming',
    ...commonColumns(wish, stored),
    requires_secret: requiresSecret,
    secret_algorithm: wish.secret_algorithm ?? stored?.secret_algorithm ?? (keepsSignature ? 'sha256' : null),
    secret_header_name:
      wish.secret_header_name ??
      stored?.secret_header_name ??
      (keepsSignature ? 'X-Hub-Signature-256' : null),
    ...((wish.settings || !stored) && { settings: JSON.stringify(incomingSettings(wish.settings)) }),
    ...((wish.trigger_when || !stored) && {
      trigger_when: JSON.stringify({ conditions: wish.trigger_when?.conditions ?? [] }),
    }),
  }
}

export function outgoingColumns(wish: OutgoingHookChange, stored?: HookRow): Updateable<HooksTable> {
  return {
    type: 'outgoing',
    ...commonColumns(wish, stored),
    target_url: wish.target_url ?? stored?.target_url,
    verify_ssl: wish.verify_ssl ?? stored?.verify_ssl ?? true,
    ...((wish.settings || !stored) && { settings: JSON.stringify(outgoingSettings(wish.settings)) }),
    ...((wish.trigger_when || !stored) && {
      trigger_when: JSON.stringify(outgoingTrigger(wish.trigger_when)),
    }),
  }
}

/** What the hook would send, once the wish is granted. */
export function requestOf(wish: OutgoingHookChange, stored?: HookRow): HookRequest {
  const settings = wish.settings || !stored ? outgoingSettings(wish.settings) : stored.settings
  return {
    target_url: (wish.target_url ?? stored?.target_url)!,
    settings: settings as HookRequest['settings'],
  }
}

/** Switching a hook on again also clears the note that says why it was switched off. */
function commonColumns(wish: { name?: string; active?: boolean }, stored?: HookRow): Updateable<HooksTable> {
  return {
    name: wish.name ?? stored?.name,
    active: wish.active ?? stored?.active ?? true,
    ...(wish.active === true && { disabled_at: null, disabled_reason: null }),
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
