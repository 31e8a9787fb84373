import { Link } from 'wouter'
import type { Credential } from './credentials.ts'

const SHOWN = 3

/** The applications and servers that use it, as links. */
export function UsedBy({ credential }: { credential: Pick<Credential, 'used_by'> }) {
  const { used_by: uses } = credential
  if (uses.length === 0) return <>Nothing</>
  return (
    <>
      {uses.slice(0, SHOWN).map(({ resource_type, resource_id, name }, index) => (
        <span key={`${resource_type}-${resource_id}`}>
          {index > 0 && ', '}
          <Link href={`/${resource_type}s/${resource_id}`}>{name}</Link>
        </span>
      ))}
      {uses.length > SHOWN && ` and ${uses.length - SHOWN} more`}
    </>
  )
}
