import { Pencil } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Environment } from '../api/types.ts'
import { CopyAs } from '../copy-as/copy-as.tsx'
import type { CopiedResource } from '../copy-as/resource.ts'
import { ScopeBreadcrumbs } from '../scope/scope-breadcrumbs.tsx'
import type { PermissionScope } from '../session/permissions.ts'
import { GuardedButton, MoreMenu, RemoveMenuItem } from './guarded-button.tsx'
import { PageHeader } from './page.tsx'

type ResourceHeaderProps = {
  type: keyof typeof LISTS
  record: Pick<CopiedResource, 'id' | 'name'>
  /** Undefined while, or where, it cannot be read. */
  environment: Environment | undefined
  badge?: ReactNode
  /** Buttons, then the menu. */
  children: ReactNode
}

/** The page that lists what else is in the environment. */
const LISTS = {
  application: '/applications',
  server: '/servers',
  pipeline: '/pipelines',
  incoming_hook: '/hooks',
  outgoing_hook: '/hooks',
} as const

/** The head of a page about one resource: where it is, its name, and what can be done with it. */
export function ResourceHeader({ type, record, environment, badge, children }: ResourceHeaderProps) {
  const { id, name } = record
  const organizationId = environment?.project.organization.id
  return (
    <>
      <ScopeBreadcrumbs page={LISTS[type]} environment={environment} />
      <PageHeader title={name} badge={badge}>
        {organizationId !== undefined && <CopyAs resource={{ type, id, name, organizationId }} />}
        {children}
      </PageHeader>
    </>
  )
}

type EditAndRemoveProps = {
  type: 'application' | 'server'
  scope: PermissionScope | undefined
  open(dialog: 'edit' | 'remove'): void
}

/** The actions of a resource that is edited in a dialog. */
export function EditAndRemove({ type, scope, open }: EditAndRemoveProps) {
  return (
    <>
      <GuardedButton
        variant="default"
        permission={`${type}:edit`}
        scope={scope}
        icon={Pencil}
        onClick={() => open('edit')}
      >
        Edit
      </GuardedButton>
      <MoreMenu>
        <RemoveMenuItem permission={`${type}:remove`} scope={scope} onClick={() => open('remove')} />
      </MoreMenu>
    </>
  )
}
