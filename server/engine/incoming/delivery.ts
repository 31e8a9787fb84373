import { hash } from 'node:crypto'

type Headers = Record<string, string | string[] | undefined>

/** Where senders put the id of a delivery, which stays the same when they send it again. */
const DELIVERY_HEADERS = [
  'idempotency-key',
  'webhook-id',
  'x-github-delivery',
  'x-gitea-delivery',
  'x-forgejo-delivery',
  'x-shopify-webhook-id',
  'linear-delivery',
  'x-gitlab-event-uuid',
]

/**
 * What makes two calls to one hook the same: the sender's id of the delivery and the body. Null when the
 * sender gives no id: then every call counts.
 */
export function deliveryKey(headers: Headers, body: Buffer): Buffer | null {
  for (const name of DELIVERY_HEADERS) {
    const id = headers[name]
    if (typeof id === 'string' && id.trim() !== '') {
      return hash('sha256', Buffer.concat([Buffer.from(`${name}\0${id.trim()}\0`), body]), 'buffer')
    }
  }
  return null
}

const EVENT_HEADERS = ['x-github-event', 'x-gitea-event', 'x-forgejo-event', 'x-gogs-event', 'x-event-key']

/** A sender trying out a hook that was just set up; nothing is to be run. */
export function isPing(headers: Headers): boolean {
  return EVENT_HEADERS.some((name) => {
    const event = headers[name]
    return event === 'ping' || event === 'diagnostics:ping'
  })
}
