import { createHmac } from 'node:crypto'

export type SignatureHeaders = {
  'webhook-id': string
  'webhook-timestamp': string
  'webhook-signature': string
}

/**
 * Standard Webhooks, version 1. Each secret (`whsec_` and base64) signs on its own; during a rotation both
 * signatures are sent, and a receiver takes whichever it knows.
 */
export function signDelivery(delivery: {
  id: string
  timestampSeconds: number
  body: Buffer | string
  secrets: readonly string[]
}): SignatureHeaders {
  const timestamp = String(Math.floor(delivery.timestampSeconds))
  const signatures = delivery.secrets.map((secret) => {
    const hmac = createHmac('sha256', keyOf(secret)).update(`${delivery.id}.${timestamp}.`)
    return `v1,${hmac.update(delivery.body).digest('base64')}`
  })
  return {
    'webhook-id': delivery.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}

/** Checked first: Node decodes anything, and the signature of an empty key is worth nothing. */
function keyOf(secret: string): Buffer {
  const encoded = /^whsec_([A-Za-z0-9+/]{4,}={0,2})$/.exec(secret)?.[1]
  if (encoded === undefined) throw new Error('A signing secret is not whsec_ and base64.')
  return Buffer.from(encoded, 'base64')
}
