import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerQuestions } from './child.ts'

// Webhook receivers in a separate process, one port each. They respond immediately, or never.

type Question =
  | { kind: 'open'; receivers: number }
  | { kind: 'hang'; receiver: number | null }
  /** Responds once the receivers other than `except` have received this many requests in total. */
  | { kind: 'wait'; requests: number; except: number | null }
  | { kind: 'forget' }

export type Arrivals = { lastAt: number; arrivedAt: Record<string, number> }

const counts: number[] = []
const arrivedAt = new Map<string, number>()
let hanging: number | null = null
let lastAt = 0
let wake = () => {}

/** The same clock in every process of this machine. */
export const clock = () => performance.timeOrigin + performance.now()

async function open(receivers: number): Promise<{ ports: number[] }> {
  const ports = await Promise.all(Array.from({ length: receivers }, (_, number) => listen(number)))
  return { ports }
}

async function listen(number: number): Promise<number> {
  counts[number] = 0
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      counts[number]! += 1
      lastAt = clock()
      arrivedAt.set(request.url!, lastAt)
      wake()
      if (number !== hanging) response.end('ok')
    })
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const total = (except: number | null) =>
  counts.reduce((sum, count, number) => (number === except ? sum : sum + count), 0)

async function waitFor(requests: number, except: number | null): Promise<Arrivals> {
  while (total(except) < requests) await new Promise<void>((resolve) => (wake = resolve))
  return { lastAt, arrivedAt: Object.fromEntries(arrivedAt) }
}

answerQuestions<Question>(async (question) => {
  switch (question.kind) {
    case 'open':
      return open(question.receivers)
    case 'hang':
      hanging = question.receiver
      return {}
    case 'wait':
      return waitFor(question.requests, question.except)
    case 'forget':
      counts.fill(0)
      arrivedAt.clear()
      return {}
  }
})
