import type { Attempt, HostRequest, Redelivery } from '#model/connections/host.ts'
import { entriesOf, unreachable } from '#model/connections/read-answer.ts'
import { readPush } from '#model/connections/read-push.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ClaimedConnection } from './claim.ts'
import type { CaughtUp, Contact, Stop } from './contact.ts'
import {
  endRedelivery,
  type FailedCall,
  findRedeliverable,
  findUnread,
  type Missed,
  markReceived,
  markSuperseded,
  nextRedelivery,
  readSince,
  storeFailed,
  storePayload,
} from './stored-misses.ts'

/** A hundred attempts each. */
const MAX_PAGES = 50
const MAX_PAYLOADS = 300

/** The failed deliveries of hosts that list them: what is missing here is delivered again, once for each branch. */
export async function catchUpDeliveries(
  db: Database,
  claimed: ClaimedConnection,
  contact: Contact,
  webhookId: string,
): Promise<CaughtUp | Stop> {
  const { redelivery } = contact.host
  if (!redelivery) return { kind: 'caught-up', againMs: null }
  const listed = await listFailed(db, claimed, contact, redelivery, webhookId)
  if (listed) return listed
  await markReceived(db, claimed.hookId)
  const read = await readPayloads(db, claimed, contact, redelivery, webhookId)
  if (read) return read
  await markSuperseded(db, claimed.hookId)
  const repeated = await repeatDeliveries(db, claimed, contact, redelivery, webhookId)
  if (repeated) return repeated
  return { kind: 'caught-up', againMs: await nextRedelivery(db, claimed.hookId) }
}

/** Lists what the host tried since the last time, and stores which of it never arrived. */
async function listFailed(
  db: Database,
  claimed: ClaimedConnection,
  { host, repository, ask }: Contact,
  redelivery: Redelivery,
  webhookId: string,
): Promise<Stop | undefined> {
  const { since, now } = await readSince(db, claimed)
  const attempts: Attempt[] = []
  let cursor: string | null = null
  for (let page = 1; page <= MAX_PAGES; page++) {
    const answer = await ask(redelivery.list(repository, webhookId, cursor))
    // Servers without this API.
    if (answer.kind === 'absent') return undefined
    if (answer.kind === 'rejected') return unreachable(answer.message)
    if (answer.kind !== 'ok') return answer
    const entries = entriesOf(answer.json)
    if (!entries) return unreachable(`${host.name} sent something other than a list of deliveries.`)
    const read = entries.flatMap((entry) => redelivery.read(entry) ?? [])
    attempts.push(...read.filter(({ at }) => at >= since))
    cursor = answer.cursor
    if (cursor === null || read.some(({ at }) => at < since)) break
  }
  await storeFailed(db, claimed, failedCalls(attempts), { since, now })
  return undefined
}

/** The calls that no attempt has delivered, oldest first, with their newest attempts. Pure. */
export function failedCalls(attempts: readonly Attempt[]): FailedCall[] {
  const inOrder = attempts.toSorted((a, b) => a.at - b.at || Number(BigInt(a.id) - BigInt(b.id)))
  return [...Map.groupBy(inOrder, ({ deliveryId }) => deliveryId).values()].flatMap((tries) => {
    if (tries.some(({ isDelivered }) => isDelivered)) return []
    const { deliveryId, id: attemptId, event } = tries.at(-1)!
    return { deliveryId, attemptId, event, missedAt: tries[0]!.at }
  })
}

/** Newest first: each branch needs only the newest push. */
async function readPayloads(
  db: Database,
  claimed: ClaimedConnection,
  contact: Contact,
  { show, readPayload }: Redelivery,
  webhookId: string,
): Promise<Stop | undefined> {
  const unread = await findUnread(db, claimed.hookId, MAX_PAYLOADS)
  return askAbout(db, contact, unread, {
    request: ({ attemptId }) => show(contact.repository, webhookId, attemptId),
    // What was pushed in one that is too long is unknown, so it is delivered in any case.
    store: ({ id }, json) => storePayload(db, id, readPush(readPayload(json))),
  })
}

async function repeatDeliveries(
  db: Database,
  claimed: ClaimedConnection,
  contact: Contact,
  { repeat }: Redelivery,
  webhookId: string,
): Promise<Stop | undefined> {
  const redeliverable = await findRedeliverable(db, claimed.hookId)
  return askAbout(db, contact, redeliverable, {
    request: ({ attemptId }) => repeat(contact.repository, webhookId, attemptId),
    store: ({ id }) => endRedelivery(db, id, 'redelivered'),
  })
}

type Question = {
  request: (missed: Missed) => HostRequest
  /** What the host said; null when that was too long to be read. */
  store: (missed: Missed, json: unknown) => Promise<void>
}

/** Asks about one after the other until the host cannot answer. What it no longer has, or refuses, is lost. */
async function askAbout(
  db: Database,
  { ask }: Contact,
  all: readonly Missed[],
  { request, store }: Question,
): Promise<Stop | undefined> {
  for (const missed of all) {
    const answer = await ask(request(missed))
    if (answer.kind === 'ok') await store(missed, answer.json)
    else if (answer.kind === 'failed' && answer.isTooLong) await store(missed, null)
    else if (answer.kind === 'absent' || answer.kind === 'rejected')
      await endRedelivery(db, missed.id, 'lost')
    else return answer
  }
  return undefined
}
