// Settings of single sign-on that take more than a pattern. Pure: config.ts turns a problem into its error.
import { isIP } from 'node:net'

/** A role that members of a group get; without a project, on the whole organization. */
export type MappedRole = {
  /** Its `url_slug`. */
  organization: string
  project?: string
  environment?: string
  /** A built-in role, or the name of a custom role of the organization. */
  role: string
}
export type GroupRoles = ReadonlyMap<string, readonly MappedRole[]>

const FIELDS = ['organization', 'project', 'environment', 'role']
const REQUIRED = ['organization', 'role']

/** The mapping, or what is wrong with it. */
export function parseGroupRoles(text: string): GroupRoles | string {
  const groups = parseJson(text)
  if (!isObject(groups)) return `must be a JSON object ${EXAMPLE}`
  for (const [group, roles] of Object.entries(groups)) {
    if (!Array.isArray(roles) || roles.length === 0) return `must list the roles of ${group} ${EXAMPLE}`
    for (const [index, role] of roles.entries()) {
      const problem = problemOf(role)
      if (problem !== undefined) return `must be valid at ${group}.${index}: ${problem}`
    }
  }
  return new Map(Object.entries(groups as Record<string, MappedRole[]>))
}

const EXAMPLE = 'such as {"ops": [{"organization": "acme", "role": "developer"}]}'

function problemOf(role: unknown): string | undefined {
  if (!isObject(role)) return `not an object with ${FIELDS.join(', ')}`
  const unknown = Object.keys(role).filter((field) => !FIELDS.includes(field))
  if (unknown.length > 0) return `unknown field ${unknown.join(', ')}`
  const unset = FIELDS.filter((field) => !isName(role[field]) && (REQUIRED.includes(field) || field in role))
  if (unset.length > 0) return `${unset.join(' and ')} must be text of 1 to 255 characters`
  return 'environment' in role && !('project' in role) ? 'environment requires project' : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value.length >= 1 && value.length <= 255
}

/** OpenID Connect relies on TLS: plain HTTP is for a provider on this machine only. */
export function isIssuer(text: string): boolean {
  const url = URL.parse(text)
  if (!url || url.username || url.password || url.search || url.hash) return false
  // The provider's discovery document is at a known place below its issuer.
  if (url.pathname.includes('/.well-known/')) return false
  return isTrustworthy(url)
}

export function isTrustworthy(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))
}

function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'))
  )
}
