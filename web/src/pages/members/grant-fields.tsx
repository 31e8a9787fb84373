// The inputs for a role and its scope.
import { Anchor, NativeSelect } from '@mantine/core'
import type { Role } from '#web/base/api/types.ts'
import { roleLabel, type ScopeNames, type StoredGrant, scopeChoices, scopeName } from './grant-input.ts'
import classes from './members.module.css'
import { BUILT_IN_ROLES, summarizePermissions } from './roles.ts'

export type GrantChoices = { roles: Role[]; names: ScopeNames }

type RoleSelectProps = {
  value: string
  roles: Role[]
  label: string
  /** Says below what the role allows. */
  isDescribed?: boolean
  error?: string | undefined
  change(role: string): void
}

export function RoleSelect({ value, roles, label, isDescribed = false, error, change }: RoleSelectProps) {
  const builtIn = BUILT_IN_ROLES.map(({ role, label: text }) => ({ value: role, label: text }))
  const custom = roles.map(({ id, name }) => ({ value: String(id), label: name }))
  return (
    <NativeSelect
      label={label}
      description={isDescribed && roleDescription(value, roles)}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      error={error}
      value={value}
      onChange={(event) => change(event.currentTarget.value)}
      data={custom.length === 0 ? builtIn : [...builtIn, { group: 'Custom roles', items: custom }]}
    />
  )
}

function roleDescription(value: string, roles: Role[]): string {
  const custom = roles.find(({ id }) => String(id) === value)
  if (custom) return summarizePermissions(custom.permissions)
  return BUILT_IN_ROLES.find(({ role }) => role === value)?.description ?? ''
}

type ScopeSelectProps = {
  value: string
  names: ScopeNames
  label: string
  error?: string | undefined
  change(scope: string): void
}

/** A scope that cannot be seen, or no longer exists, stays what it is. */
export function ScopeSelect({ value, names, label, error, change }: ScopeSelectProps) {
  const choices = scopeChoices(names)
  const isListed = choices.some((choice) => choice.value === value)
  return (
    <NativeSelect
      label={label}
      error={error}
      value={value}
      onChange={(event) => change(event.currentTarget.value)}
      data={isListed ? choices : [...choices, { value, label: value.replace(':', ' ') }]}
    />
  )
}

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

type NameCellProps = { name: string; canChange: boolean; change(): void }

/** The name of a member or role; for people who may change it, a button that does. */
export function NameCell({ name, canChange, change }: NameCellProps) {
  if (!canChange) return <span className={classes.name}>{name}</span>
  return (
    <Anchor component="button" size="sm" className={classes.name} onClick={change}>
      {name}
    </Anchor>
  )
}
