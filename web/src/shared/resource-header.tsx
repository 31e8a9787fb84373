import { Pencil } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Environment } from '#web/base/api/types.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { MoreMenu, RemoveMenuItem } from '#web/base/ui/menus.tsx'
import { PageHeader } from '#web/base/ui/page.tsx'
import { CopyAs } from '#web/shared/copy-as/copy-as.tsx'
import type { CopiedResource } from '#web/shared/copy-as/resource.ts'
import { ScopeBreadcrumbs } from '#web/shared/scope/scope-breadcrumbs.tsx'

type ResourceHeaderProps = {
  type: keyof typeof LISTS
  record: Pick<CopiedResource, 'id' | 'name'>
  /** Undefined while, or where, it cannot be read. */
  environment: Environment | undefined
  /** What it belongs to inside of the environment. */
  parents?: { href: string; name: string }[]
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
export function ResourceHeader({
  type,
  record,
  environment,
  parents = [],
  badge,
  children,
}: ResourceHeaderProps) {
  const { id, name } = record
  const organizationId = environment?.project.organization.id
  return (
    <>
      <ScopeBreadcrumbs page={LISTS[type]} environment={environment} parents={parents} />
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
