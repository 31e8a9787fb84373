import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

/** Standard Webhooks, version 1. Each key signs on its own: during a rotation a receiver takes whichever it knows. */
export function signDelivery(delivery: {
  id: string
  timestampSeconds: number
  body: Buffer | string
  keys: readonly KeyObject[]
}) {
  const timestamp = String(Math.floor(delivery.timestampSeconds))
  const signatures = delivery.keys.map((key) => {
    const hmac = createHmac('sha256', key).update(`${delivery.id}.${timestamp}.`)
    return `v1,${hmac.update(delivery.body).digest('base64')}`
  })
  return {
    'webhook-id': delivery.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}

/**
 * The key of a secret that is written as `whsec_` and base64. Checked first: Node decodes anything, and the
 * signature of an empty key is worth nothing.
 */
export function signingKey(secret: string): KeyObject {
  const encoded = /^whsec_([A-Za-z0-9+/]{4,}={0,2})$/.exec(secret)?.[1]
  if (encoded === undefined) throw new Error('A signing secret is not whsec_ and base64.')
  return createSecretKey(encoded, 'base64')
}
