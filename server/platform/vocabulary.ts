// The enumerated values of the API and their display names. docs/glossary.md explains them.

export const OPERATIONS = {
  deploy: 'Deploy',
  configure: 'Configure',
  provision: 'Provision',
  start: 'Start',
  stop: 'Stop',
  restart: 'Restart',
  reload: 'Reload',
  get_status: 'Get status',
  rotate_key: 'Rotate key',
  check_provisioned: 'Check provisioned',
  remove: 'Remove',
  delete: 'Delete',
  custom: 'Custom',
} as const

export type Operation = keyof typeof OPERATIONS

export const STATUSES = {
  pending: 'Pending',
  waiting: 'Waiting',
  queued: 'Queued',
  'in-progress': 'In progress',
  completed: 'Completed',
  failed: 'Failed',
  skipped: 'Skipped',
} as const

export type Status = keyof typeof STATUSES

export const REASONS = {
  PENDING: 'Pending',
  QUEUED: 'Queued',
  WAITING_CONCURRENCY_PIPELINE: 'Waiting: pipeline busy',
  WAITING_CONCURRENCY_TARGET: 'Waiting: server busy',
  WAITING_WORKER: 'Waiting: no worker can take it',
  WAITING_CHECKS: 'Waiting for checks',
  WAITING_APPROVAL: 'Waiting: approval',
  WAITING_FREEZE: 'Waiting: freeze',
  IN_PROGRESS: 'In progress',
  REVERTING: 'Reverting to the previous release',
  RECONNECTING: 'Reconnecting to the server',
  COMPLETED: 'Completed',
  FAILED: 'Failed',
  FAILED_TIMEOUT: 'Step timed out',
  FAILED_CANCELLED: 'Canceled by a user',
  FAILED_WORKER_LOST: 'Worker lost',
  FAILED_UNREACHABLE: 'Server unreachable',
  FAILED_SOURCE: 'Source not found',
  FAILED_UNHEALTHY: 'Health check failed',
  FAILED_CHECKS: 'Checks failed',
  FAILED_REJECTED: 'Rejected',
  FAILED_EXPIRED: 'Approval expired',
  FAILED_REVERTED: 'Reverted to the previous release',
  FAILED_REVERT: 'Failed; revert failed',
  SKIPPED: 'Skipped',
  SKIPPED_UNCHANGED: 'Skipped: nothing relevant has changed',
  SKIPPED_OUTDATED: 'Skipped: the branch has a newer run or commit',
  SKIPPED_EXPIRED: 'Skipped: not approved in time',
} as const

export type ReasonCode = keyof typeof REASONS

/** During an upgrade, runs have reasons that only the newer release knows: 'WAITING_MOON' → 'Waiting moon'. */
export function reasonName(code: string): string {
  return Object.hasOwn(REASONS, code) ? REASONS[code as ReasonCode] : displayName(code.toLowerCase())!
}

/** What a run passes between its creation and the queue, in this order. */
export const GATES = { checks: 'Checks', approval: 'Approval', freeze: 'Freeze' } as const
export type Gate = keyof typeof GATES

/** What can happen at a gate: events `action.<this>`. */
export const GATE_EVENTS = ['gate_changed', 'approval_requested', 'approved', 'rejected'] as const
export type GateEvent = (typeof GATE_EVENTS)[number]

const GATE_OF: { readonly [Reason in ReasonCode]?: Gate } = {
  WAITING_CHECKS: 'checks',
  WAITING_APPROVAL: 'approval',
  WAITING_FREEZE: 'freeze',
}

/** The gate that is closed for a run or a target with this reason. */
export function gateOf(reason: ReasonCode): Gate | null {
  return GATE_OF[reason] ?? null
}

/** The first one is that of ISO 8601. */
export const WEEKDAYS = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
] as const
export type Weekday = (typeof WEEKDAYS)[number]

export const TRIGGER_TYPES = ['hook', 'manual', 'retry', 'pipeline'] as const
export const RESOURCE_TYPES = { application: 'Application', server: 'Server' } as const
export const ENVIRONMENT_TYPES = {
  development: 'Development',
  staging: 'Staging',
  production: 'Production',
} as const

/** The kinds of server; each has a connector in adapters/executors/connect.ts. */
export const SERVER_KINDS = { local: 'Local', ssh: 'SSH' } as const
export type ServerKind = keyof typeof SERVER_KINDS

/** In the order of the contract; includes every kind of server. */
export const PROVIDERS = {
  github: 'GitHub',
  gitlab: 'GitLab',
  bitbucket: 'Bitbucket',
  gitea: 'Gitea',
  git: 'Git',
  ssh: SERVER_KINDS.ssh,
  local: SERVER_KINDS.local,
  slack: 'Slack',
  discord: 'Discord',
} as const satisfies Record<ServerKind, string> & Record<string, string>

export const PROVIDER_TYPES = {
  source_provider: 'Source provider',
  ssh_key: 'SSH key',
  server: 'Server',
  chat: 'Chat',
} as const
export const AUTH_TYPES = { token: 'Token', key: 'Key', none: 'None' } as const

/** Programming languages and frameworks are free text; these have a fixed spelling, found by letters and digits. */
const SPELLED = `Angular Astro CakePHP Django Elixir Express FastAPI Fastify Flask Go HTML Java JavaScript Kotlin
  Laravel NestJS Next.js Node.js Nuxt Phoenix PHP Python React Ruby Rust Shell Spring Svelte Symfony TypeScript
  WordPress`
const SPELLINGS: Record<string, string> = {
  ...Object.fromEntries(SPELLED.split(/\s+/).map((name) => [lettersOf(name), name])),
  ...{ csharp: 'C#', dotnet: '.NET', rails: 'Ruby on Rails', vue: 'Vue.js' },
}

/** 'php' → 'PHP', 'next.js' → 'Next.js', 'my_framework' → 'My framework'. */
export function displayName(word: string | null): string | null {
  if (word === null) return null
  const letters = lettersOf(word)
  if (Object.hasOwn(SPELLINGS, letters)) return SPELLINGS[letters]!
  const spaced = word.replaceAll(/[_-]+/g, ' ').trim()
  return spaced.charAt(0).toUpperCase() + spaced.slice(1)
}

function lettersOf(word: string): string {
  return word.toLowerCase().replace(/[^a-z0-9]/g, '')
}
