// The connecting room: creates, watches and removes the webhooks of connected hooks. What people ask for is stored
// (model/connections); here it is claimed (claim), asked for at the host (contact, connect-webhook), and stored (store). This
// file is the loop.
import type { HttpClient } from '#adapters/http-client/client.ts'
import type { Wait } from '#engine/outgoing/ask-within-budget.ts'
import type { Webhook } from '#model/connections/host.ts'
import { HOSTS } from '#model/connections/hosts.ts'
import type { ConnectionState, Finding } from '#model/connections/judge.ts'
import { entriesOf, type HostFailure } from '#model/connections/read-answer.ts'
import { replacedAad } from '#model/hooks/present-hook.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import { repeat, within } from '#platform/queue/repeat.ts'
import { type CatchUpDeps, catchUp } from './catch-up.ts'
import {
  type ClaimedConnection,
  type ClaimedRemoval,
  claimConnections,
  claimRemovals,
  hold,
} from './claim.ts'
import { checkWebhook, connectWebhook, removeWebhooks, rotateSecret } from './connect-webhook.ts'
import { type CaughtUp, type Contact, openContact } from './contact.ts'
import { AFTER_REPAIR_MS, nextTry, REMOVE_FOR_MS } from './schedule.ts'
import {
  endRemoval,
  giveUpRemoval,
  isConnectedAt,
  postpone,
  retryRemoval,
  storeReplaced,
  storeResult,
} from './store.ts'
import { type ConnectedSubject, loadConnected, loadRemoved } from './subject.ts'

/** How long a stopping process waits for what it writes. */
const LAST_WRITES_MS = 2_000
/** Clocks differ. */
const TOLERANCE_MS = 2 * 60_000

export type ConnectingOptions = Omit<CatchUpDeps, 'signal'> & {
  http: HttpClient
  baseUrl: () => string
  /** How often it looks for work that is due. */
  pollMs: number
  isPaused?: () => boolean
  /** For the log: a state that differs from the one before. */
  onState?: (change: {
    hookId: string
    before: ConnectionState
    state: ConnectionState
    problem: string | null
  }) => void
  onError: (error: Error) => void
}

const PERFORM = { connect: connectWebhook, rotate: rotateSecret, check: checkWebhook }

/** Any number of processes may do this side by side: a claim is a lease on rows. */
export function startConnecting(options: ConnectingOptions): { stop(): Promise<void> } {
  const { db, http, onError } = options
  const stopping = new AbortController()
  const { signal } = stopping
  /** One at a time for each credential: webhooks must not use up what deliveries need. */
  const busy = new Map<number, Promise<void>>()

  async function claim(): Promise<void> {
    if (options.isPaused?.()) return
    const removals = await claimRemovals(db, [...busy.keys()])
    const busyNow = [...busy.keys(), ...removals.map(({ credentialId }) => credentialId)]
    const connections = await claimConnections(db, busyNow)
    const work = [
      ...removals.map((claimed) => ({ claimed, run: () => remove(claimed) })),
      ...connections.map((claimed) => ({ claimed, run: () => attend(claimed) })),
    ]
    for (const [credentialId, tasks] of Map.groupBy(work, ({ claimed }) => claimed.credentialId)) {
      const all = async () => {
        for (const { run } of tasks) if (!signal.aborted) await run()
      }
      const doing = all()
        .catch((error) => {
          if (!signal.aborted) onError(error)
        })
        .finally(() => busy.delete(credentialId))
      busy.set(credentialId, doing)
    }
  }

  async function attend(claimed: ClaimedConnection): Promise<void> {
    const subject = await loadConnected(options, claimed)
    if (subject.kind === 'failed') return store(claimed, claimed.credentialId, failed(claimed, subject))
    const contact = contactFor(claimed, subject, [subject.secret, tokenIn(subject.url)])
    const { hookId, webhookId, events } = claimed
    const { url, secret, tokenHash } = subject
    const replaced = openReplaced(options.box, claimed)
    const expected = {
      hookId,
      tokenHash,
      webhookId,
      url,
      secret,
      events,
      baseUrl: options.baseUrl(),
      replaced,
    }
    const result = await PERFORM[claimed.task](contact, expected)
    if (result.kind === 'lost') return
    if (result.kind === 'wait') {
      // What the host was asked last may still happen there: the next process waits until the lease ends.
      if (signal.aborted) return
      return postpone(db, claimed, result.afterMs, waiting(contact, result))
    }
    if (result.kind === 'failed') return store(claimed, subject.credentialId, failed(claimed, result))
    const { finding, isDone } = result
    const hasOtherSecret = claimed.task === 'check' && (await judgeSecret(claimed, contact, finding))
    const shown = hasOtherSecret && finding.state === 'connected' ? otherSecret(contact, finding) : finding
    const outcome = {
      finding: shown,
      isDone,
      isTemporary: false,
      hasOtherSecret,
      sentSecret: subject.sealedSecret,
    }
    if (claimed.task !== 'check' || result.calls !== true || finding.webhookId === null) {
      const isRepaired = claimed.task === 'connect' && isDone && claimed.checkedAt !== null
      return store(claimed, subject.credentialId, {
        ...outcome,
        againMs: isRepaired ? AFTER_REPAIR_MS : null,
      })
    }
    const caughtUp = await catchUp({ ...options, signal }, claimed, contact, subject, finding.webhookId)
    if (caughtUp.kind === 'lost' || signal.aborted) return
    const againMs = againAfter(claimed, caughtUp)
    if (caughtUp.kind !== 'failed' || caughtUp.isTemporary)
      // The state of the webhook is known, whatever happened afterward.
      return store(claimed, subject.credentialId, { ...outcome, againMs })
    const { state, problem } = caughtUp
    return store(claimed, subject.credentialId, {
      ...outcome,
      finding: { ...finding, state, problem },
      againMs,
    })
  }

  type Outcome = {
    finding: Finding
    isDone: boolean
    isTemporary: boolean
    hasOtherSecret: boolean
    sentSecret?: Buffer
    /** Sooner than usual. */
    againMs?: number | null
  }

  async function store(claimed: ClaimedConnection, credentialId: number, outcome: Outcome): Promise<void> {
    const { isTemporary, againMs = null, ...result } = outcome
    const { failures } = claimed
    const usualMs = nextTry({ isTemporary, failures, random: Math.random() })
    await storeResult(db, claimed, {
      ...result,
      credentialId,
      failures: isTemporary ? failures + 1 : 0,
      afterMs: againMs === null ? usualMs : Math.min(usualMs, againMs),
    })
    const { state, problem } = outcome.finding
    if (state !== claimed.state)
      options.onState?.({ hookId: claimed.hookId, before: claimed.state, state, problem })
  }

  /** Whether the host signs with another secret: anyone can send a wrong signature, so the host must have been told so. */
  async function judgeSecret(
    claimed: ClaimedConnection,
    contact: Contact,
    finding: Finding,
  ): Promise<boolean> {
    const { rejectedAt, checkedAt, hasOtherSecret } = claimed
    const { tried, readTried } = contact.host
    const isNew = rejectedAt !== null && (checkedAt === null || rejectedAt > checkedAt)
    if (rejectedAt === null || !(isNew || hasOtherSecret)) return false
    if (!tried || finding.webhookId === null) return hasOtherSecret
    const answer = await contact.ask(tried(contact.repository, finding.webhookId))
    const entries = answer.kind === 'ok' ? entriesOf(answer.json) : null
    if (!entries) return hasOtherSecret
    const calls = entries.flatMap((entry) => readTried(entry) ?? []).sort((a, b) => b.at - a.at)
    // The newest one decides: it may have been repaired at the host.
    const [newest] = calls.filter(({ status }) => status !== null)
    return newest?.status === 403 && newest.at >= Date.parse(rejectedAt) - TOLERANCE_MS
  }

  async function remove(claimed: ClaimedRemoval): Promise<void> {
    const subject = await loadRemoved(options, claimed)
    const result =
      subject.kind === 'failed' ? subject : await removeWebhooks(contactFor(claimed, subject, []), claimed)
    if (result.kind === 'lost') return
    if (result.kind === 'removed') return endRemoval(db, claimed)
    const { failures, ageMs, homeUrl, repository, webhookId } = claimed
    if (result.kind === 'wait') {
      const retry = { afterMs: result.afterMs, failures, problem: null }
      return retryRemoval(db, claimed, retry)
    }
    const { problem } = result
    // Its webhooks are where the repository is now, and belong to the connection there.
    if (result.hasMoved && (await isConnectedAt(db, claimed))) return endRemoval(db, claimed)
    if (ageMs >= REMOVE_FOR_MS) {
      const host = HOSTS[claimed.provider]
      return giveUpRemoval(
        db,
        claimed,
        problem,
        webhookId && host.settingsUrl(homeUrl, repository, webhookId),
      )
    }
    const afterMs = nextTry({ isTemporary: true, failures, random: Math.random() })
    return retryRemoval(db, claimed, { afterMs, failures: failures + 1, problem })
  }

  function contactFor(
    claimed: ClaimedConnection | ClaimedRemoval,
    { token, credentialId }: Pick<ConnectedSubject, 'token' | 'credentialId'>,
    hidden: readonly string[],
  ): Contact {
    const { apiUrl, repository, hookId } = claimed
    const host = HOSTS[claimed.provider]
    const target = { host, apiUrl, repository, hookId, credentialId, token, hidden }
    return openContact(
      { db, http, signal },
      {
        ...target,
        hold: () => hold(db, claimed),
        replace: (webhook) =>
          storeReplaced(db, claimed, options.box.seal(JSON.stringify(webhook), replacedAad(hookId))),
      },
    )
  }

  const polling = repeat(options.pollMs, signal, claim, { onError: (error) => onError(error as Error) })

  return {
    async stop() {
      stopping.abort()
      await polling
      await within(LAST_WRITES_MS, Promise.all(busy.values()))
    },
  }
}

function openReplaced(box: SecretBox, { replaced, hookId }: ClaimedConnection): Webhook | null {
  return replaced && (JSON.parse(box.open(replaced, replacedAad(hookId))) as Webhook)
}

/** How soon the rest is caught up with; null: with the next check. */
function againAfter({ failures }: ClaimedConnection, caughtUp: CaughtUp | Wait | HostFailure): number | null {
  if (caughtUp.kind === 'caught-up') return caughtUp.againMs
  if (caughtUp.kind === 'wait') return caughtUp.afterMs
  return nextTry({ isTemporary: caughtUp.isTemporary, failures, random: Math.random() })
}

/** The URL of a hook is a secret: its last part but one. */
const tokenIn = (url: string) => url.split('/').at(-2)!

/** What was found before is still known, but for the state. */
function failed(
  { webhookId, hasOtherSecret }: ClaimedConnection,
  { state, problem, isTemporary }: HostFailure,
) {
  const finding: Finding = { state, problem, webhookId, disabledUntil: null }
  return { finding, isDone: false, isTemporary, hasOtherSecret }
}

function otherSecret({ host }: Contact, finding: Finding): Finding {
  const problem = `${host.name} signs with another secret, so its calls are rejected. Repair the connection to send the secret again.`
  return { ...finding, state: 'changed', problem }
}

function waiting({ host }: Contact, { afterMs }: Wait): string | null {
  if (afterMs === 0) return null
  return `Waiting for the rate limit of ${host.name}: the next request is sent in ${Math.ceil(afterMs / 1_000)} s.`
}
