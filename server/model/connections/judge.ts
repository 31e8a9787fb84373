import type { RepositoryHost, WantedWebhook, Webhook } from './host.ts'
import { callsHook, type OwnAddress } from './own-webhooks.ts'

export const CONNECTION_STATES = [
  'connecting',
  'connected',
  'missing',
  'changed',
  'disabled',
  'forbidden',
  'unreachable',
] as const
export type ConnectionState = (typeof CONNECTION_STATES)[number]

export type Finding = {
  state: ConnectionState
  problem: string | null
  webhookId: string | null
  disabledUntil: string | null
}

type Expected = Pick<WantedWebhook, 'url' | 'events'> & OwnAddress

/**
 * What the webhooks of a repository that call the hook say about its connection. `own` is from `ownWebhooks`. What people
 * changed at the host is reported; more events than expected are fine. Pure.
 */
export function judgeWebhooks(host: RepositoryHost, own: readonly Webhook[], expected: Expected): Finding {
  const [first] = own
  if (!first)
    return found('missing', null, `${host.name} has no webhook for this hook: it was deleted there.`)
  const { id, disabledUntil } = first
  if (first.isSuspended) {
    const until = disabledUntil === null ? '' : ` until ${disabledUntil.slice(0, 16).replace('T', ' ')} UTC`
    const problem = `${host.name} has suspended the webhook${until} because calls failed.`
    return { ...found('disabled', id, problem), disabledUntil }
  }
  if (!first.active) return found('disabled', id, `The webhook is switched off at ${host.name}.`)
  const changes = changesOf(host, first, expected)
  if (own.length > 1 && callsHook(own[1]!.url, expected))
    changes.push(`${own.length} webhooks call this hook, so that each push starts ${own.length} runs`)
  if (changes.length === 0) return found('connected', id, null)
  return found('changed', id, `The webhook was changed at ${host.name}: ${changes.join('; ')}.`)
}

function changesOf(host: RepositoryHost, webhook: Webhook, { url, events }: Expected): string[] {
  const isSent = (event: string) => webhook.events.includes(event) || webhook.events.includes('*')
  const missing = events.filter((event) => !isSent(event) && !host.optionalEvents.includes(event))
  return [
    ...(webhook.url === url ? [] : [`it calls another URL than ${withoutToken(url)}`]),
    ...(missing.length === 0 ? [] : [`it does not send ${missing.join(', ')}`]),
    ...(webhook.verifiesTls === false ? ['it does not verify the TLS certificate'] : []),
    ...(webhook.isReadable ? [] : [`its content type is not JSON, and ${host.name} signs only JSON`]),
  ]
}

/** The URL of a hook is a secret. */
export const withoutToken = (url: string) => url.replace(/\/hooks\/[^/]+\/trigger$/, '/hooks/…/trigger')

const found = (state: ConnectionState, webhookId: string | null, problem: string | null): Finding => ({
  state,
  problem,
  webhookId,
  disabledUntil: null,
})
