import { roleLabel, type ScopeNames, type StoredGrant, scopeName } from './grant-input.ts'

type GrantLabelsProps = { grants: (StoredGrant & { source?: string })[]; names: ScopeNames }

/** "Developer in Web shop / Production", one below the other. */
export function GrantLabels({ grants, names }: GrantLabelsProps) {
  return grants.map((grant) => {
    const scope = scopeName(grant, names)
    return (
      <div key={`${grant.role ?? grant.role_id} ${grant.project_id} ${grant.environment_id}`}>
        {roleLabel(grant)}
        {scope !== undefined && <span className="dimmed"> in {scope}</span>}
        {grant.source === 'oidc' && <span className="dimmed"> (from single sign-on)</span>}
      </div>
    )
  })
}
