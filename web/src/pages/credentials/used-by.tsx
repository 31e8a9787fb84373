import { Link } from 'wouter'
import type { Credential } from '#web/resources/credentials/credentials.ts'

const SHOWN = 3

type Use = { href: string; name: string }

/** The applications, servers and hooks that use it. */
export function usesOf({ used_by, used_by_hooks }: Pick<Credential, 'used_by' | 'used_by_hooks'>): Use[] {
  return [
    ...used_by.map(({ resource_type, resource_id, name }) => ({
      href: `/${resource_type}s/${resource_id}`,
      name,
    })),
    ...used_by_hooks.map(({ hook_id, name }) => ({ href: `/hooks/outgoing/${hook_id}`, name })),
  ]
}

/** What uses it, as links. */
export function UsedBy({ credential }: { credential: Pick<Credential, 'used_by' | 'used_by_hooks'> }) {
  const uses = usesOf(credential)
  if (uses.length === 0) return <>Nothing</>
  return (
    <>
      {uses.slice(0, SHOWN).map(({ href, name }, index) => (
        <span key={href}>
          {index > 0 && ', '}
          <Link href={href}>{name}</Link>
        </span>
      ))}
      {uses.length > SHOWN && ` and ${uses.length - SHOWN} more`}
    </>
  )
}
