import { hashToken } from '#platform/crypto/tokens.ts'
import type { Webhook } from './host.ts'

/** How webhooks of a hook are recognized: by the last part of the hook's URL, whatever the base URL was. */
export type OwnAddress = { hookId: string; tokenHash: Buffer | null; webhookId: string | null }

/** Those that call the hook, the known one first, then the oldest. Pure. */
export function ownWebhooks(webhooks: readonly Webhook[], own: OwnAddress): Webhook[] {
  const isKnown = ({ id }: Webhook) => id === own.webhookId
  return webhooks
    .filter((webhook) => isKnown(webhook) || callsHook(webhook.url, own))
    .sort((a, b) => Number(isKnown(b)) - Number(isKnown(a)) || Number(a.id) - Number(b.id))
}

export function callsHook(url: string, { hookId, tokenHash }: Omit<OwnAddress, 'webhookId'>): boolean {
  const name = /\/hooks\/([^/?#]+)\/trigger\/?(?:[?#]|$)/.exec(url)?.[1]
  if (name === undefined) return false
  return name.toLowerCase() === hookId || (tokenHash !== null && hashToken(name).equals(tokenHash))
}
