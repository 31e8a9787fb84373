// The form of a new personal access token, and what it sends. Pure.
import type { TokenBody } from '#web/base/api/types.ts'

export type TokenScope = NonNullable<TokenBody['scopes']>[number]

export const SCOPES: { value: TokenScope; label: string; description: string }[] = [
  { value: 'read', label: 'Read', description: 'See runs, logs, hooks and settings' },
  { value: 'run', label: 'Run', description: 'Start, retry and cancel runs, and replay calls' },
  { value: 'hooks', label: 'Hooks', description: 'Create, change, test and remove hooks' },
  {
    value: 'manage',
    label: 'Manage',
    description: 'Change everything else: servers, pipelines, members and so on',
  },
  { value: 'approve', label: 'Approve', description: 'Approve and reject runs, where you may' },
]

export const EXPIRIES = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: '1 year' },
  { value: 'never', label: 'No expiration' },
]

export const REACHES = [
  { value: 'all', label: 'Everything that I can access' },
  { value: 'organizations', label: 'Selected organizations' },
  { value: 'projects', label: 'Selected projects' },
]

export type TokenInput = {
  name: string
  access: 'full' | 'scopes'
  scopes: string[]
  reach: string
  organizations: string[]
  projects: string[]
  expiry: string
}

export const NEW_TOKEN: TokenInput = {
  name: '',
  access: 'scopes',
  scopes: ['read'],
  reach: 'all',
  organizations: [],
  projects: [],
  expiry: '90',
}

/** An empty selection would be a token that can do nothing. */
export function validateToken({ name, access, scopes, reach, organizations, projects }: TokenInput) {
  return {
    name: name.trim() === '' ? 'Enter a name' : null,
    scopes: access === 'scopes' && scopes.length === 0 ? 'Select at least one scope' : null,
    organizations:
      reach === 'organizations' && organizations.length === 0 ? 'Select at least one organization' : null,
    projects: reach === 'projects' && projects.length === 0 ? 'Select at least one project' : null,
  }
}

const DAY_MS = 86_400_000

export function toTokenBody(input: TokenInput, now: number): TokenBody {
  const { access, reach, expiry } = input
  return {
    name: input.name.trim(),
    scopes:
      access === 'full' ? null : SCOPES.map(({ value }) => value).filter((one) => input.scopes.includes(one)),
    organization_ids: reach === 'organizations' ? input.organizations.map(Number) : null,
    project_ids: reach === 'projects' ? input.projects.map(Number) : null,
    expires_at: expiry === 'never' ? null : new Date(now + Number(expiry) * DAY_MS).toISOString(),
  }
}

/** "read, run", or "full access". */
export function scopesLabel(scopes: readonly string[] | null): string {
  return scopes === null ? 'full access' : scopes.join(', ')
}

/** What the token will be able to do, in a sentence, before it is created. */
export function describeToken(input: TokenInput): string {
  const { access, reach, organizations, projects, expiry } = input
  const scopes = SCOPES.filter(({ value }) => input.scopes.includes(value))
  const abilities =
    access === 'full'
      ? 'do everything that your account can do'
      : scopes.map(({ description }) => uncapitalized(description)).join('; ') || 'do nothing'
  const count = (items: string[], noun: string) => `${items.length} ${noun}${items.length === 1 ? '' : 's'}`
  const where =
    reach === 'organizations'
      ? ` in ${count(organizations, 'organization')}`
      : reach === 'projects'
        ? ` in ${count(projects, 'project')}`
        : ''
  const until = EXPIRIES.find(({ value }) => value === expiry)
  const how = expiry === 'never' || !until ? ', until you revoke it' : `, for ${until.label}`
  return `Anyone who has this token can ${abilities}${where}${how}. It can never do more than you.`
}

function uncapitalized(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
