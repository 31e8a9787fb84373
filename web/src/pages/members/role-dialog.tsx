import { Input, TextInput } from '@mantine/core'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { Role } from '#web/base/api/types.ts'
import { FormDialog } from '#web/base/form/form-dialog.tsx'
import { useRecordForm } from '#web/base/form/use-record-form.ts'
import { useStored, useVersioned } from '#web/base/form/versioned.ts'
import { usePermissions } from '#web/base/session/permissions.ts'
import { EditDialog } from '#web/base/ui/dialog.tsx'
import { notify } from '#web/base/ui/notify.ts'
import { Dimmed } from '#web/base/ui/parts.tsx'
import { PermissionGrid } from './permission-grid.tsx'
import { type Permission, VIEWER_PERMISSIONS } from './roles.ts'

type Values = { name: string; permissions: Permission[] }

type NewRoleProps = { organizationId: number; close(): void }

export function NewRoleDialog({ organizationId, close }: NewRoleProps) {
  const api = useApi()
  return (
    <RoleForm
      organizationId={organizationId}
      id={`role-new-${organizationId}`}
      title="Add role"
      submit="Add role"
      initial={{ name: '', permissions: VIEWER_PERMISSIONS }}
      done={(name) => `Role ${name} added.`}
      save={(body) =>
        api.post('/organizations/{id}/roles', { params: { path: { id: organizationId } }, body })
      }
      close={close}
    />
  )
}

export function ChangeRoleDialog({ role, close }: { role: Role; close(): void }) {
  const path = { id: role.id }
  const query = useVersioned(queryKeys.role(role.id), '/roles/{id}', { params: { path } })
  const stored = useStored('/roles/{id}', { path }, valuesOf, (values) => values)
  return (
    <EditDialog title={role.name} what="role" query={query} close={close}>
      {({ record, version }) => (
        <RoleForm
          organizationId={role.organization_id}
          id={`role-${role.id}`}
          title={`Role ${role.name}`}
          submit="Save changes"
          initial={valuesOf(record)}
          version={version}
          done={(name) => `Role ${name} changed.`}
          save={(values, ifMatch) => stored.save(values, ifMatch, values)}
          reload={stored.reload}
          close={close}
        />
      )}
    </EditDialog>
  )
}

type RoleFormProps = {
  organizationId: number
  id: string
  title: string
  submit: string
  initial: Values
  version?: string | null
  save(values: Values, ifMatch: string | undefined): Promise<Role>
  reload?(): Promise<{ values: Values; version: string | null }>
  done(name: string): string
  close(): void
}

function RoleForm(props: RoleFormProps) {
  const { organizationId, id, title, submit, initial, version, save, reload, done, close } = props
  const refetch = useRefetch()
  const isPermitted = usePermissions()
  const form = useRecordForm<Values, Role>({
    id,
    initial,
    version,
    ...(reload && { reload }),
    save: ({ name, permissions }, ifMatch) => save({ name: name.trim(), permissions }, ifMatch),
    onSaved(saved) {
      close()
      notify.done(done(saved.name))
      void refetch(queryKeys.members(organizationId), queryKeys.role(saved.id), queryKeys.permissions)
    },
  })
  return (
    <FormDialog
      title={title}
      form={form}
      submit={submit}
      needs={{
        permission: version === undefined ? 'member:add' : 'member:edit',
        scope: { organization: organizationId },
      }}
      close={close}
    >
      <TextInput label="Name" maxLength={60} data-autofocus {...form.field('name')} />
      <Input.Wrapper
        label="Permissions"
        labelElement="div"
        error={form.errors.permissions}
        description="You can include permissions that you have. Arrow keys move, Space selects."
      >
        <PermissionGrid
          value={form.values.permissions}
          change={(permissions) => form.set('permissions', permissions)}
          isAllowed={(permission) => isPermitted(permission, { organization: organizationId })}
        />
      </Input.Wrapper>
      {version !== undefined && <Dimmed>Changes apply immediately to everyone who has the role.</Dimmed>}
    </FormDialog>
  )
}

function valuesOf({ name, permissions }: Role): Values {
  return { name, permissions: permissions as Permission[] }
}
