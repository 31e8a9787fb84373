// The enumerated values of the API and their display names. docs/glossary.md explains them.
import type { ReasonCode, ServersTable, Status } from '#platform/database/tables.ts'

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

export const STATUSES: Record<Status, string> = {
  pending: 'Pending',
  waiting: 'Waiting',
  queued: 'Queued',
  'in-progress': 'In progress',
  completed: 'Completed',
  failed: 'Failed',
  skipped: 'Skipped',
}

export const REASONS: Record<ReasonCode, string> = {
  PENDING: 'Pending',
  QUEUED: 'Queued',
  WAITING_CONCURRENCY_PIPELINE: 'Waiting: pipeline busy',
  WAITING_CONCURRENCY_TARGET: 'Waiting: server busy',
  IN_PROGRESS: 'In progress',
  COMPLETED: 'Completed',
  FAILED: 'Failed',
  FAILED_TIMEOUT: 'Step timed out',
  FAILED_CANCELLED: 'Canceled by a user',
  FAILED_WORKER_LOST: 'Worker lost',
  FAILED_UNREACHABLE: 'Server unreachable',
  FAILED_SOURCE: 'Source not found',
  SKIPPED: 'Skipped',
}

export const TRIGGER_TYPES = ['hook', 'manual', 'retry', 'pipeline'] as const
export const RESOURCE_TYPES = { application: 'Application', server: 'Server' } as const
export const ENVIRONMENT_TYPES = {
  development: 'Development',
  staging: 'Staging',
  production: 'Production',
} as const

/** The kinds of server; each has a connector in adapters/executors/connect.ts. */
export const SERVER_KINDS = { local: 'Local', ssh: 'SSH' } satisfies Record<
  ServersTable['provider_code'],
  string
>

export const PROVIDERS = {
  ...SERVER_KINDS,
  github: 'GitHub',
  gitlab: 'GitLab',
  bitbucket: 'Bitbucket',
  gitea: 'Gitea',
  git: 'Git',
} as const

export const PROVIDER_TYPES = {
  source_provider: 'Source provider',
  ssh_key: 'SSH key',
  server: 'Server',
} as const
export const AUTH_TYPES = { token: 'Token', key: 'Key', none: 'None' } as const

/** Programming languages and frameworks are free text; these have a special spelling. */
const SPELLINGS: Record<string, string> = {
  angular: 'Angular',
  astro: 'Astro',
  cakephp: 'CakePHP',
  csharp: 'C#',
  django: 'Django',
  dotnet: '.NET',
  elixir: 'Elixir',
  express: 'Express',
  fastapi: 'FastAPI',
  fastify: 'Fastify',
  flask: 'Flask',
  go: 'Go',
  html: 'HTML',
  java: 'Java',
  javascript: 'JavaScript',
  kotlin: 'Kotlin',
  laravel: 'Laravel',
  nestjs: 'NestJS',
  nextjs: 'Next.js',
  nodejs: 'Node.js',
  nuxt: 'Nuxt',
  phoenix: 'Phoenix',
  php: 'PHP',
  python: 'Python',
  rails: 'Ruby on Rails',
  react: 'React',
  ruby: 'Ruby',
  rust: 'Rust',
  shell: 'Shell',
  spring: 'Spring',
  svelte: 'Svelte',
  symfony: 'Symfony',
  typescript: 'TypeScript',
  vue: 'Vue.js',
  wordpress: 'WordPress',
}

/** 'php' → 'PHP', 'next.js' → 'Next.js', 'my_framework' → 'My framework'. */
export function displayName(word: string | null): string | null {
  if (word === null) return null
  const plain = word.toLowerCase().replace(/[^a-z0-9]/g, '')
  if (Object.hasOwn(SPELLINGS, plain)) return SPELLINGS[plain]!
  const spaced = word.replaceAll(/[_-]+/g, ' ').trim()
  return spaced.charAt(0).toUpperCase() + spaced.slice(1)
}
