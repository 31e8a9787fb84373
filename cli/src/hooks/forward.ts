import type { components } from '@gantry/client'

type Delivery = components['schemas']['Delivery']

export type Forwarded = { status: number | null; duration_ms: number; error: string | null }

const TIMEOUT_MS = 30_000
/** They belong to the connection, not to the delivery. */
const OF_CONNECTION = [
  'host',
  'content-length',
  'connection',
  'transfer-encoding',
  'keep-alive',
  'te',
  'upgrade',
  'expect',
]

/** Never fails: a receiver that is down today is what somebody wants to see. */
export async function forward(url: string, delivery: Delivery, signal: AbortSignal): Promise<Forwarded> {
  const { method, body } = delivery
  const headers = Object.entries(delivery.headers).filter(
    ([name]) => !OF_CONNECTION.includes(name.toLowerCase()),
  )
  const started = performance.now()
  const result = (status: number | null, error: string | null): Forwarded => ({
    status,
    duration_ms: Math.round(performance.now() - started),
    error,
  })
  try {
    const response = await fetch(url, {
      method,
      headers,
      ...(method !== 'GET' && body !== '' && { body }),
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    await response.body?.cancel()
    return result(response.status, null)
  } catch (error) {
    if (signal.aborted) throw error
    return result(null, reasonOf(error))
  }
}

function reasonOf(error: unknown): string {
  const { name, cause, message } = error as Error & { cause?: NodeJS.ErrnoException }
  if (name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1_000} s`
  if (cause?.code === 'ECONNREFUSED') return 'nothing listens there'
  return cause?.code ?? message
}
