// The diagnostics room: what `gantry doctor` shows. Each check looks at one part of the installation; none changes
// anything. A check that hangs or breaks is itself a finding, and the others still answer.
import { setTimeout as delay } from 'node:timers/promises'
import type { Caller } from '#access/authorization/caller.ts'
import { can, type Permission, type Scope } from '#access/authorization/permissions.ts'
import { OUTAGES, type OutageKind, outageKind } from '#platform/database/outage-kinds.ts'

export type Finding = {
  status: 'ok' | 'warning' | 'failed'
  message: string
  /** What to do about it; null when it is ok. */
  remedy: string | null
}

export type Check = { name: string; needsDatabase?: true; run(): Promise<Finding> }

export type CheckResult = { name: string } & Finding

/** All at once, in the given order. */
export function runChecks(
  checks: readonly Check[],
  { withinMs, onError }: { withinMs: number; onError: (name: string, error: unknown) => void },
): Promise<CheckResult[]> {
  return Promise.all(
    checks.map(async ({ name, run }) => {
      const late = new AbortController()
      const timeout = delay(withinMs, TOO_SLOW, { signal: late.signal })
      timeout.catch(() => {})
      const finding = run().catch((error: unknown) => {
        onError(name, error)
        return broken(error)
      })
      try {
        return { name, ...(await Promise.race([finding, timeout])) }
      } finally {
        late.abort()
      }
    }),
  )
}

export const ok = (message: string): Finding => ({ status: 'ok', message, remedy: null })
export const warning = (message: string, remedy: string): Finding => ({ status: 'warning', message, remedy })
export const failed = (message: string, remedy: string): Finding => ({ status: 'failed', message, remedy })
/** Those that are about something, as one. */
export function warnings(all: readonly { about: readonly unknown[]; message: string; remedy: string }[]) {
  const found = all.filter(({ about }) => about.length > 0)
  return warning(found.map(({ message }) => message).join(' '), found.map(({ remedy }) => remedy).join(' '))
}

/** Something that a finding names. */
export type Named = Scope & { name: string }

const MAX_NAMES = 5

/** `: web-1, web-2, …`; an instance administrator sees nothing of an organization without a grant there. */
export function namesOf(caller: Caller, permission: Permission, found: readonly Named[]): string {
  const names = found.filter((one) => can(caller, permission, one)).map(({ name }) => name)
  if (names.length === 0) return ''
  const isAll = found.length <= Math.min(names.length, MAX_NAMES)
  return `: ${[...names.slice(0, MAX_NAMES), ...(isAll ? [] : ['…'])].join(', ')}`
}

/** `1 job`, `2 jobs` */
export function counted(count: number, word: string): string {
  return `${count.toLocaleString('en-US')} ${word}${count === 1 ? '' : 's'}`
}

const TOO_SLOW = failed(
  'This check took too long, and was given up.',
  'Run it again. If it stays slow, look at the load of the machine and of the database.',
)
/** A statement that reached its time limit. */
const CANCELLED = '57014'

/** The error itself stays in the log: it may name hosts, paths and values. */
function broken(error: unknown): Finding {
  if ((error as { code?: unknown } | null)?.code === CANCELLED) return TOO_SLOW
  const kind = outageKind(error)
  return kind === null
    ? failed('This check failed unexpectedly.', 'The log of this process has the details.')
    : failed(OUTAGES[kind].sentence, OUTAGES[kind].remedy)
}

/** Those that can only fail, because the database cannot be read, say so and ask nothing. */
export function skipUnanswerable(checks: readonly Check[], outage: OutageKind | null): Check[] {
  const isReadable = outage === null || outage === 'read_only' || outage === 'disk_full'
  if (isReadable) return [...checks]
  const skipped = warning('Not checked: it needs the database.', 'See the check database.')
  return checks.map((check) => (check.needsDatabase ? { ...check, run: async () => skipped } : check))
}
