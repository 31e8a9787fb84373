// Creates the webhook of a hook at its host, repairs it, and gives it a new secret. It always begins with what the host has, so
// that a webhook is found again whose creation was not noticed: after a lost answer, or a crash.
import { objectOf, type RepositoryHost, type WantedWebhook, type Webhook } from '#model/connections/host.ts'
import { type Finding, judgeWebhooks } from '#model/connections/judge.ts'
import { callsHook, type OwnAddress, ownWebhooks } from '#model/connections/own-webhooks.ts'
import { explainRejection, unreachable } from '#model/connections/read-answer.ts'
import { type Contact, listWebhooks, type Stop } from './contact.ts'

export type Expected = OwnAddress & {
  url: string
  baseUrl: string
  secret: string
  events: string[]
  /** Removed to be created again; then the process died, or the host refused. */
  replaced: Webhook | null
}

/**
 * `isDone`: the host has what it is to have, the secret included. Otherwise it is tried again. `calls`: the webhook is there to
 * call for pushes, even if the host has suspended it. People who delete it, or switch it off, want no calls.
 */
export type Found = { kind: 'found'; finding: Finding; isDone: boolean; calls?: boolean }

/** For a person who connects or repairs: the webhook becomes what it must be. More events than needed stay. */
export async function connectWebhook(contact: Contact, expected: Expected): Promise<Found | Stop> {
  const listed = await listWebhooks(contact)
  if (listed.kind !== 'listed') return listed
  const [first, ...others] = ownWebhooks(listed.webhooks, expected)
  const saved = await save(contact, expected, first, {
    url: expected.url,
    secret: expected.secret,
    events: eventsOf(expected.events, first),
    active: true,
    verifiesTls: true,
  })
  if (saved.kind !== 'found') return saved
  // Every call of a second one would start a second run.
  for (const { id, url } of others) {
    if (!callsHook(url, expected) || !saved.isDone) continue
    const removed = await remove(contact, id)
    if (removed.kind !== 'removed') return removed
  }
  return saved
}

/** For a new secret: what people changed at the host stays as it is, and is reported. */
export async function rotateSecret(contact: Contact, expected: Expected): Promise<Found | Stop> {
  const listed = await listWebhooks(contact)
  if (listed.kind !== 'listed') return listed
  const own = ownWebhooks(listed.webhooks, expected)
  const [stored] = own
  const first = stored ?? expected.replaced
  if (!first) return { kind: 'found', finding: judgeWebhooks(contact.host, own, expected), isDone: true }
  // Calls something else by now, where the new secret must not go: the previous one counts until it calls the hook again.
  if (stored && !callsHook(stored.url, expected))
    return { kind: 'found', finding: judgeWebhooks(contact.host, own, expected), isDone: false }
  const { url, events, active, verifiesTls } = first
  const wanted = { url, events, active, verifiesTls: verifiesTls ?? true, secret: expected.secret }
  // Suspended ones stay suspended: only a person's repair replaces them.
  return save(contact, expected, stored && { ...stored, isSuspended: false }, wanted)
}

export async function checkWebhook(contact: Contact, expected: Expected): Promise<Found | Stop> {
  const listed = await listWebhooks(contact)
  if (listed.kind !== 'listed') return listed
  const own = ownWebhooks(listed.webhooks, expected)
  const finding = judgeWebhooks(contact.host, own, expected)
  return {
    kind: 'found',
    finding,
    isDone: true,
    calls: own[0] !== undefined && calls(contact, own[0], expected),
  }
}

function calls(
  { host }: Contact,
  { url, active, isSuspended, events }: Webhook,
  expected: Expected,
): boolean {
  const isForPushes = events.includes('*') || host.defaultEvents.some((event) => events.includes(event))
  return callsHook(url, expected) && (active || isSuspended) && isForPushes
}

export async function removeWebhooks(contact: Contact, own: OwnAddress): Promise<{ kind: 'removed' } | Stop> {
  const listed = await listWebhooks(contact)
  if (listed.kind !== 'listed') return listed
  // One that people let call something else is theirs.
  for (const { id } of ownWebhooks(listed.webhooks, own).filter(({ url }) => callsHook(url, own))) {
    const removed = await remove(contact, id)
    if (removed.kind !== 'removed') return removed
  }
  return { kind: 'removed' }
}

/** Changes the webhook that there is, or creates one. Where it has to be replaced, the old one goes first: two would both call. */
async function save(
  contact: Contact,
  expected: Expected,
  stored: Webhook | undefined,
  wanted: WantedWebhook,
): Promise<Found | Stop> {
  const { host, repository, ask } = contact
  if (stored && host.update && !stored.isSuspended) {
    const answer = await ask(host.update(repository, stored.id, wanted))
    if (answer.kind === 'ok') return read(host, expected, answer.json)
    if (answer.kind === 'rejected') return rejected(host, expected, answer.message, stored.id)
    // Deleted since it was listed.
    if (answer.kind !== 'absent') return answer
  } else if (stored) {
    if (!(await contact.replace(stored))) return { kind: 'lost' }
    const removed = await remove(contact, stored.id)
    if (removed.kind !== 'removed') return removed
  }
  const answer = await ask(host.create(repository, { ...wanted, kept: (stored ?? expected.replaced)?.kept }))
  if (answer.kind === 'ok') return read(host, expected, answer.json)
  if (answer.kind === 'rejected') return rejected(host, expected, answer.message, null)
  // The list was readable, so the repository exists.
  return answer.kind === 'absent' ? missingPermission(host) : answer
}

function read(host: RepositoryHost, expected: Expected, json: unknown): Found | Stop {
  const webhook = host.read(objectOf(json))
  if (!webhook) return unreachable(`${host.name} sent something other than a webhook.`)
  return { kind: 'found', finding: judgeWebhooks(host, [webhook], expected), isDone: true }
}

function rejected(
  host: RepositoryHost,
  { baseUrl }: Expected,
  message: string,
  id: string | null,
): Found | Stop {
  if (/already exists/i.test(message)) return unreachable(message)
  const problem = explainRejection(host, message, baseUrl)
  const state = id === null ? 'missing' : 'changed'
  return {
    kind: 'found',
    finding: { state, problem, webhookId: id, disabledUntil: null },
    isDone: false,
  }
}

function missingPermission(host: RepositoryHost): Stop {
  return {
    kind: 'failed',
    state: 'forbidden',
    problem: `${host.name} does not allow the token to create webhooks. ${host.permission}.`,
    isTemporary: false,
  }
}

async function remove({ host, repository, ask }: Contact, id: string): Promise<{ kind: 'removed' } | Stop> {
  const answer = await ask(host.remove(repository, id))
  if (answer.kind === 'ok' || answer.kind === 'absent') return { kind: 'removed' }
  return answer.kind === 'rejected' ? unreachable(answer.message) : answer
}

function eventsOf(wanted: readonly string[], stored: Webhook | undefined): string[] {
  const events = [...new Set([...wanted, ...(stored?.events ?? [])])]
  return events.includes('*') ? ['*'] : events
}
