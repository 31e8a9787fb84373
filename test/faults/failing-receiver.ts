// A receiver of outgoing webhooks that often fails, repeats every secret that it knows, and remembers what came.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { later } from '#test/support/later.ts'

/** One request that came whole, as its address tells it: /<hook>/<action>/<event>/<status>. */
export type Arrival = {
  hook: string
  actionId: number
  eventId: number
  status: string
  messageId: string
  at: number
  answer: 'taken' | 'refused' | 'dropped'
}

type Strike = { after: number; now: () => void }

const ENDS = ['completed', 'failed', 'skipped']
export const isFinal = ({ status }: { status: string }) => ENDS.includes(status)

/** The templates of an address whose parts come back as an arrival. */
export const addressOf = (base: string, hook: string) =>
  `${base}/${hook}/{{ action.id }}/{{ event.id }}/{{ action.status }}`

/** `known`: what else it tells in the answers to a hook. */
export async function openFailingReceiver(t: Parameters<typeof later>[0], known: (hook: string) => string) {
  const arrivals: Arrival[] = []
  let strike: Strike | null = null

  /** Of every hundred, five are refused and two are dropped, wherever they fall. */
  function nextAnswer(): Arrival['answer'] {
    if (arrivals.length % 20 === 7) return 'refused'
    return arrivals.length % 50 === 33 ? 'dropped' : 'taken'
  }

  function take(request: IncomingMessage, response: ServerResponse): void {
    const [, hook, actionId, eventId, status] = request.url!.split('/')
    const arrival: Arrival = {
      hook: hook!,
      actionId: Number(actionId),
      eventId: Number(eventId),
      status: status!,
      messageId: String(request.headers['webhook-id']),
      at: Date.now(),
      answer: nextAnswer(),
    }
    arrivals.push(arrival)
    if (strike && arrivals.length >= strike.after && isFinal(arrival)) {
      const { now } = strike
      strike = null
      arrival.answer = 'dropped'
      now()
    }
    if (arrival.answer === 'dropped') request.socket.destroy()
    else
      response
        .writeHead(arrival.answer === 'taken' ? 200 : 500, { 'x-echo': echoOf(request) })
        .end(`${echoOf(request)}\n${known(hook!)}`)
  }

  const server = createServer((request, response) => {
    // Whoever is killed while sending has sent nothing.
    request.on('error', () => {})
    response.on('error', () => {})
    request.on('end', () => take(request, response))
    request.resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  later(t, () => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    /**
     * Calls `now` when that many have come and one tells of an end: at this moment its sender waits for the answer,
     * which never comes. So the sender cannot have stored what became of it.
     */
    strikeAfter(after: number, now: () => void): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      strike = {
        after,
        now() {
          now()
          resolve()
        },
      }
      return promise
    },
  }
}

/** What the request itself carries, as a debugging page would show it. */
function echoOf({ headers }: IncomingMessage): string {
  return String(headers['x-token'] ?? 'no token')
}
